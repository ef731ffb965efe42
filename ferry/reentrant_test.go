package ferry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/goferry/goferry/ferry"
)

// L27: whatever would wait for the call that it is made from is refused, and harms nothing.
func TestL27FlushAndCloseFromInsideACall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var f *ferry.Ferry[string, string, string]
		f = ferry.PerKey(ferry.Config{}, func(in string) string { return in },
			func(ctx context.Context, key string, ins []string) ([]string, error) {
				for name, err := range map[string]error{
					"Flush": f.Flush(ctx), "FlushKey": f.FlushKey(ctx, key), "Close": f.Close(ctx),
				} {
					if !errors.Is(err, ferry.ErrReentrant) {
						t.Errorf("%s: got %v, want %v", name, err, ferry.ErrReentrant)
					}
				}
				return ins, nil
			})
		for range 2 {
			if _, err := f.Submit(t.Context(), "a"); err != nil {
				t.Error(err)
			}
		}
		if err := errors.Join(f.Flush(t.Context()), f.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
}
