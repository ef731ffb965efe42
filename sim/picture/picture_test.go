package picture_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/goferry/goferry/sim/picture"
)

var history = picture.Picture{
	Title: "two writers <and> a crash",
	About: []string{"one fault"},
	Lanes: []string{"w1", "w2"},
	Steps: []picture.Step{
		{Lane: "w1", Kind: picture.Read, Does: "read k", Answer: "v0", Store: []string{"k v0"}},
		{Lane: "w2", Kind: picture.Read, Does: "read k", Store: []string{"k v0"}},
		{Lane: "w1", Kind: picture.Crash, Does: "commit k [a]", Event: "crashes", Store: []string{"k v0"}, Network: []string{"w1 commit"}},
		{Event: "outages end"},
		{Lane: "w2", Kind: picture.Write, Does: "commit k [b]", Answer: "done", Store: []string{"k v1"}},
	},
	Calls: []picture.Call{
		{Lane: "w1", From: 1, What: "submit a", Answer: "nothing"},
		{Lane: "w2", From: 2, To: 5, What: "submit b", Answer: "b projected"},
	},
	Law: "once", Broken: "b is twice in the log",
	Again: "go run ./cmd/ferrysim",
}

func TestHTML(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := history.HTML(&out); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	for _, want := range []string{
		"two writers &lt;and&gt; a crash", "Law broken: once.", "b is twice in the log", "submit b", "answered: b projected",
		"w1 commit", "outages end", `class="last"`, "go run ./cmd/ferrysim",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, foreign := range []string{"<script", "http://", "https://", "url("} {
		if strings.Contains(page, foreign) {
			t.Errorf("the page is not self-contained: %q", foreign)
		}
	}
	// w1's bar ends with its crash, w2's with its answer: 3 and 4 shaded cells.
	if got := strings.Count(page, `<td class="call">`); got != 7 {
		t.Errorf("got %d shaded cells, want 7", got)
	}
}

func TestEveryLawHeld(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	if err := (picture.Picture{Title: "quiet"}).HTML(&out); err != nil || !strings.Contains(out.String(), "Every law held.") {
		t.Errorf("got %v and %s", err, out.String())
	}
}

func ExamplePicture_HTML() {
	file, err := os.CreateTemp("", "history*.html")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.Remove(file.Name())
	fmt.Println(history.HTML(file), file.Close())
	// Output: <nil> <nil>
}
