package main

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The program, on a real port, with a store that is a file.
func TestRun(t *testing.T) {
	t.Parallel()
	ctx, stop := context.WithCancel(t.Context())
	stdout, printed := io.Pipe()
	code := make(chan int)
	var stderr strings.Builder
	go func() {
		code <- run(ctx, []string{"-store", "sqlite:" + filepath.Join(t.TempDir(), "ledger"), "-clients", "4", "-verbose"}, printed, &stderr)
	}()
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(line)
	if !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Errorf("printed %q, want the page's address", line)
	}
	response, err := http.Get(url + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Errorf("the first event: got %v", err)
	}
	if got, _ := listenTwice(strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")); got != 1 {
		t.Errorf("a second one on the same port: got exit code %d, want 1", got)
	}
	stop()
	if got := <-code; got != 0 {
		t.Errorf("got exit code %d, want 0: %s", got, stderr.String())
	}
	if _, err := net.Dial("tcp", strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/")); err == nil {
		t.Error("it still listens")
	}
}

func listenTwice(addr string) (int, string) {
	var stderr strings.Builder
	code := run(context.Background(), []string{"-addr", addr}, io.Discard, &stderr)
	return code, stderr.String()
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args []string
		code int
		want string
	}{
		{[]string{"-clients", "0"}, 2, "clients must be between 1 and 512"},
		{[]string{"-skew", "9"}, 2, "skew must be between 0 and 3"},
		{[]string{"-frobnicate"}, 2, "not defined"},
		{[]string{"left", "over"}, 2, "no arguments are taken"},
		{[]string{"-store", "floppy"}, 1, "want memory or sqlite:FILE"},
		{[]string{"-addr", "nowhere"}, 1, "nowhere"},
	}
	for _, tt := range tests {
		var stdout, stderr strings.Builder
		code := run(t.Context(), tt.args, &stdout, &stderr)
		if code != tt.code || !strings.Contains(stderr.String(), tt.want) || stdout.String() != "" {
			t.Errorf("%q: got exit code %d, %q and %q, want %d and %q", tt.args, code, stdout.String(), stderr.String(), tt.code, tt.want)
		}
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	visit(t, calm(), func(s *site) {
		response, err := s.client.Get("http://console/")
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		if got := response.Header.Get("Content-Type"); got != "text/html; charset=utf-8" {
			t.Errorf("type: got %s", got)
		}
		if got := response.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got, "default-src 'none'; connect-src 'self';") {
			t.Errorf("policy: got %s", got)
		}
		body, err := io.ReadAll(response.Body)
		if err != nil || string(body) != string(page) {
			t.Errorf("body: got %d bytes and %v, want the page", len(body), err)
		}
	})
}

// The page needs nothing from elsewhere, names what can be operated, and explains each panel in one sentence.
func TestPageStandsAloneAndExplainsItself(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("index.html")
	if err != nil {
		t.Fatal(err)
	}
	html := strings.ReplaceAll(string(source), "http://www.w3.org/2000/svg", "") // A name, not an address.
	if found := regexp.MustCompile(`https?://|\bsrc=|@import|url\(|(href=")[^d]`).FindString(html); found != "" {
		t.Errorf("the page refers to something else: %s", found)
	}
	ids := map[string]int{}
	for _, m := range regexp.MustCompile(`\bid="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		ids[m[1]]++
	}
	for id, n := range ids {
		if n > 1 {
			t.Errorf("the id %s is there %d times", id, n)
		}
	}
	for _, m := range regexp.MustCompile(`(?:byId\(|draw(?:Rows)?\(|for=|labelledby=)"([^"$]+)"`).FindAllStringSubmatch(html, -1) {
		if id := m[1]; ids[id] == 0 && !strings.HasSuffix(id, "-") {
			t.Errorf("there is no id %s", id)
		}
	}
	for _, m := range regexp.MustCompile(`<input id="([^"]+)"`).FindAllStringSubmatch(html, -1) {
		if !strings.Contains(html, `<label for="`+m[1]+`">`) {
			t.Errorf("the input %s has no label", m[1])
		}
	}
	sections := strings.Count(html, "<section")
	explained := regexp.MustCompile(`<h2 id="[^"]+">[^<]+</h2>\s+<p>[^<.]+\.</p>`).FindAllString(html, -1)
	if sections != 7 || len(explained) != sections {
		t.Errorf("got %d panels, %d of them explained in one sentence", sections, len(explained))
	}
}
