package sheetstest_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/api/googleapi"

	"github.com/goferry/goferry/backends/sheets/zzmut"
)

// code is the HTTP code of a call: 200, or what its error says.
func code(err error) int {
	if err == nil {
		return 200
	}
	if e, ok := errors.AsType[*googleapi.Error](err); ok {
		return e.Code
	}
	return 0
}

// TestProfiles runs one story for every question that the profiles answer
// differently.
func TestProfiles(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		story func(t *testing.T, r *rig) string
		want  [3]string // P1, P2, P3.
	}{
		{"length of a text outside the basic plane", func(t *testing.T, r *rig) string {
			_, err := r.batch(t.Context(), put(0, 0, 0, strings.Repeat("😀", 30_000)))
			return fmt.Sprint(code(err))
		}, [3]string{"400", "200", "400"}},
		{"NUL", func(t *testing.T, r *rig) string {
			_, err := r.batch(t.Context(), put(0, 0, 0, "a\x00b"))
			return fmt.Sprint(code(err), len(r.Rows(r.id, "Sheet1")))
		}, [3]string{"200 1", "500 0", "200 1"}},
		{"empty text", func(t *testing.T, r *rig) string {
			r.must(t, put(0, 0, 0, ""))
			return fmt.Sprintf("%q", r.Rows(r.id, "Sheet1"))
		}, [3]string{`[]`, `[[""]]`, `[]`}},
		{"bad request", func(t *testing.T, r *rig) string {
			_, err := r.batch(t.Context(), put(9, 0, 0, "x"))
			return fmt.Sprint(code(err))
		}, [3]string{"400", "500", "400"}},
		{"throttled write", func(t *testing.T, r *rig) string {
			r.Inject(sheetstest.OpBatchUpdate, 1, sheetstest.Fault{Kind: sheetstest.TooManyRequests})
			_, err := r.batch(t.Context(), put(0, 0, 0, "x"))
			return fmt.Sprint(code(err), r.Rows(r.id, "Sheet1"))
		}, [3]string{"429 []", "429 [[x]]", "429 []"}},
		{"duplicate id", func(t *testing.T, r *rig) string {
			r.must(t, mark(0, 5, "a"))
			_, err := r.batch(t.Context(), mark(0, 5, "b"), put(0, 0, 0, "x"))
			return fmt.Sprint(code(err), len(r.Metadata(r.id)), r.Rows(r.id, "Sheet1"))
		}, [3]string{"400 1 []", "400 1 []", "200 2 [[x]]"}},
		{"text of a duplicate id", func(t *testing.T, r *rig) string {
			r.must(t, mark(0, 5, "a"))
			_, err := r.batch(t.Context(), mark(0, 5, "b"))
			return fmt.Sprint(err != nil && strings.Contains(err.Error(), "already exists"))
		}, [3]string{"true", "false", "false"}},
		{"read after write", func(t *testing.T, r *rig) string {
			time.Sleep(time.Minute)
			for i := range 4 {
				r.must(t, put(0, 0, 0, i))
			}
			return read(t, r, "Sheet1!A1")
		}, [3]string{"[[3]]", "[[1]]", "[[3]]"}},
		{"read a while after write", func(t *testing.T, r *rig) string {
			r.must(t, put(0, 0, 0, "x"))
			time.Sleep(3 * time.Second)
			return read(t, r, "Sheet1!A1")
		}, [3]string{"[[x]]", "[[x]]", "[[x]]"}},
		{"reads that are wrong", func(t *testing.T, r *rig) string {
			_, err := r.client.Spreadsheets.Values.Get(r.id, "Nowhere!A1").Do()
			return fmt.Sprint(code(err))
		}, [3]string{"400", "400", "400"}},
	}
	for _, test := range tests {
		for i, profile := range []sheetstest.Profile{sheetstest.P1, sheetstest.P2, sheetstest.P3} {
			t.Run(test.name+"/"+profile.String(), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := newRig(t, sheetstest.Options{Profile: profile})
					if got := test.story(t, r); got != test.want[i] {
						t.Errorf("got %s, want %s", got, test.want[i])
					}
				})
			})
		}
	}
}

func read(t fatal, r *rig, text string) string {
	t.Helper()
	v, err := r.client.Spreadsheets.Values.Get(r.id, text).ValueRenderOption("UNFORMATTED_VALUE").Do()
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return fmt.Sprint(v.Values)
}

func TestUnknownProfile(t *testing.T) {
	t.Parallel()
	defer func() {
		if got := fmt.Sprint(recover()); !strings.Contains(got, "Options.Profile") {
			t.Errorf("got panic %q, want the field named", got)
		}
	}()
	sheetstest.New(sheetstest.Options{Profile: 7})
}
