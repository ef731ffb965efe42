// Package contract checks stores against the contract of the backends package, one rule a check.
//
// A check answers an error rather than failing a test, so that a store which breaks a rule on purpose can be
// checked too: the tests of this package want such stores found out.
package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/goferry/goferry/backends"
)

// Record is a record of the stores under test: a log of identities.
type Record = backends.Record[[]string]

// Subject is an empty store of either kind.
type Subject struct {
	backends.Store[string, []string]
	// Settle is the store's fenced clear: Project or Clear.
	Settle func(ctx context.Context, key string, record Record) error
	// Delete, if the store has one, removes a record fenced.
	Delete func(ctx context.Context, key string, record Record) error
	// View answers the identities in the view of key.
	View func(ctx context.Context, key string) ([]string, error)
	// Rows is the store again, if it has a view of one row per entry. A row is its entry's identity.
	Rows backends.RowStore[string, []string, string, string]
}

// patience ends a check that hangs: one of these takes seconds, on a busy machine too.
const patience = 2 * time.Minute

// Test runs every check on a new store.
func Test(t *testing.T, open func() Subject) {
	for _, check := range Checks() {
		t.Run(check.Name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			if err := check.Run(ctx, open()); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check is one rule of the contract. It passes for a store that does not have what the rule is about.
type Check struct {
	Name string
	Run  func(ctx context.Context, s Subject) error
}

// Checks are all rules.
func Checks() []Check {
	return []Check{
		{"absent key is the zero record", absent},
		{"committed record is read back", readBack},
		{"L28 commit keeps the marker", commitKeepsMarker},
		{"L32 every write has a new fence", newFences},
		{"L32 stale clear after a re-mark", staleClearAfterRemark},
		{"L32 deleted and created again", createdAgain},
		{"L33 stale writes are conflicts and write nothing", staleWrites},
		{"L33 ended context is unknown", endedContext},
		{"index lists what is behind", index},
		{"view shows the settled record", view},
		{"contended increments", contendedIncrements},
		{"one of many projections lands", contendedSettles},
		{"rows are put once and answered one by one", rowsOnce},
	}
}

func commit(ctx context.Context, s Subject, read Record, add ...string) (Record, error) {
	next := Record{Body: append(slices.Clone(read.Body), add...), Behind: true}
	return s.Commit(ctx, "k", read, next)
}

func differ(what string, got, want any) error {
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		return fmt.Errorf("%s: got %s, want %s", what, g, w)
	}
	return nil
}

func wantClass(what string, err, class error) error {
	e, ok := errors.AsType[*backends.Error](err)
	if !ok || e.Class != class {
		return fmt.Errorf("%s: got %v, want a *backends.Error of class %q", what, err, class)
	}
	return nil
}

func absent(ctx context.Context, s Subject) error {
	record, err := s.Read(ctx, "k")
	return errors.Join(err,
		differ("record", record, Record{}),
		wantClass("settling it", s.Settle(ctx, "k", record), backends.ErrConflict))
}

func readBack(ctx context.Context, s Subject) error {
	stored, err := commit(ctx, s, Record{}, "a", "b")
	got, readErr := s.Read(ctx, "k")
	return errors.Join(err, readErr,
		differ("stored", stored, Record{Body: []string{"a", "b"}, Fence: stored.Fence, Behind: true}),
		differ("read", got, stored))
}

func commitKeepsMarker(ctx context.Context, s Subject) error {
	stored, err := commit(ctx, s, Record{}, "a")
	next := stored
	next.Behind = false
	again, againErr := s.Commit(ctx, "k", stored, next)
	got, readErr := s.Read(ctx, "k")
	return errors.Join(err, againErr, readErr,
		differ("stored as behind", again.Behind, true), differ("read as behind", got.Behind, true))
}

// newFences creates, then clears and marks twice without a change of the body: five writes, five fences.
func newFences(ctx context.Context, s Subject) error {
	seen := []backends.Fence{0}
	look := func(err error) (Record, error) {
		got, readErr := s.Read(ctx, "k")
		if err := errors.Join(err, readErr); err != nil {
			return got, err
		}
		if slices.Contains(seen, got.Fence) {
			return got, fmt.Errorf("fence %d came back after %v", got.Fence, seen)
		}
		seen = append(seen, got.Fence)
		return got, nil
	}
	write := func(read Record) error {
		_, err := s.Commit(ctx, "k", read, Record{Body: read.Body, Behind: true})
		return err
	}
	record, err := look(write(Record{}))
	for range 2 {
		if err == nil {
			record, err = look(s.Settle(ctx, "k", record))
		}
		if err == nil {
			record, err = look(write(record))
		}
	}
	return err
}

func staleClearAfterRemark(ctx context.Context, s Subject) error {
	first, err := commit(ctx, s, Record{}, "a")
	settleErr := s.Settle(ctx, "k", first)
	settled, readErr := s.Read(ctx, "k")
	_, markErr := s.Commit(ctx, "k", settled, first)
	if err := errors.Join(err, settleErr, readErr, markErr); err != nil {
		return err
	}
	stale := s.Settle(ctx, "k", first)
	got, readErr := s.Read(ctx, "k")
	return errors.Join(readErr, wantClass("stale clear", stale, backends.ErrConflict), differ("behind", got.Behind, true))
}

func createdAgain(ctx context.Context, s Subject) error {
	if s.Delete == nil {
		return nil
	}
	first, err := commit(ctx, s, Record{}, "a")
	deleteErr := s.Delete(ctx, "k", first)
	gone, readErr := s.Read(ctx, "k")
	second, againErr := commit(ctx, s, Record{}, "b")
	if err := errors.Join(err, deleteErr, readErr, againErr, differ("deleted", gone, Record{})); err != nil {
		return err
	}
	_, staleErr := commit(ctx, s, first, "c")
	got, readErr := s.Read(ctx, "k")
	return errors.Join(readErr,
		wantClass("commit on the former life", staleErr, backends.ErrConflict),
		wantClass("settle of the former life", s.Settle(ctx, "k", first), backends.ErrConflict),
		wantClass("delete of the former life", s.Delete(ctx, "k", first), backends.ErrConflict),
		differ("record", got, second))
}

func staleWrites(ctx context.Context, s Subject) error {
	first, err := commit(ctx, s, Record{}, "a")
	second, secondErr := commit(ctx, s, first, "b")
	if err := errors.Join(err, secondErr); err != nil {
		return err
	}
	_, created := commit(ctx, s, Record{}, "c")
	_, staled := commit(ctx, s, first, "c")
	settled := s.Settle(ctx, "k", first)
	got, readErr := s.Read(ctx, "k")
	_, newer := s.Commit(ctx, "other", second, second)
	shown, viewErr := s.View(ctx, "k")
	return errors.Join(readErr, viewErr,
		wantClass("second create", created, backends.ErrConflict),
		wantClass("stale commit", staled, backends.ErrConflict),
		wantClass("stale settle", settled, backends.ErrConflict),
		wantClass("commit to a key that is not there", newer, backends.ErrConflict),
		differ("record", got, second), differ("view", shown, []string{}))
}

func endedContext(ctx context.Context, s Subject) error {
	record, err := commit(ctx, s, Record{}, "a")
	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, committed := commit(ended, s, record, "b")
	settled := s.Settle(ended, "k", record)
	errs := []error{err,
		wantClass("commit", committed, backends.ErrUnknown),
		wantClass("settle", settled, backends.ErrUnknown)}
	if _, err := s.Read(ended, "k"); err == nil {
		errs = append(errs, errors.New("a read answered"))
	}
	if _, err := pending(ended, s); err == nil {
		errs = append(errs, errors.New("a listing answered"))
	}
	if s.Rows != nil {
		puts := s.Rows.Put(ended, "k", []string{"a", "b"})
		errs = append(errs, differ("answers to a put of two", len(puts), 2))
		for _, err := range puts {
			errs = append(errs, wantClass("put", err, backends.ErrUnknown))
		}
	}
	return errors.Join(errs...)
}

func pending(ctx context.Context, s Subject) ([]string, error) {
	var keys []string
	for key, err := range s.PendingKeys(ctx) {
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys, nil
}

func index(ctx context.Context, s Subject) error {
	wantPending := func(err error, want ...string) error {
		got, listErr := pending(ctx, s)
		return errors.Join(err, listErr, differ("pending", got, want))
	}
	first, err := commit(ctx, s, Record{}, "a")
	_, quietErr := s.Commit(ctx, "quiet", Record{}, Record{Body: []string{"a"}})
	_, otherErr := s.Commit(ctx, "other", Record{}, first)
	return errors.Join(quietErr, otherErr,
		wantPending(err, "k", "other"),
		wantPending(s.Settle(ctx, "k", first), "other"))
}

func view(ctx context.Context, s Subject) error {
	first, err := commit(ctx, s, Record{}, "a", "b")
	if s.Rows != nil {
		err = errors.Join(append(s.Rows.Put(ctx, "k", first.Body), err)...)
	}
	settleErr := s.Settle(ctx, "k", first)
	settled, readErr := s.Read(ctx, "k")
	shown, viewErr := s.View(ctx, "k")
	return errors.Join(err, settleErr, readErr, viewErr,
		differ("view", shown, first.Body), differ("body", settled.Body, first.Body), differ("behind", settled.Behind, false),
		wantClass("second projection", s.Settle(ctx, "k", first), backends.ErrConflict))
}

// contendedIncrements has 8 writers with 25 entries each, all of which must be in the record, once. All have read
// before the first writes, so that there is contention in every run.
func contendedIncrements(ctx context.Context, s Subject) error {
	var reading sync.WaitGroup
	reading.Add(8)
	errs := together(8, func(writer int) error {
		afterRead := sync.OnceFunc(func() { reading.Done(); reading.Wait() })
		for n := range 25 {
			if err := increment(ctx, s, fmt.Sprint(writer, "-", n), afterRead); err != nil {
				return err
			}
		}
		return nil
	})
	record, err := s.Read(ctx, "k")
	log := slices.Sorted(slices.Values(record.Body))
	return errors.Join(errors.Join(errs...), err,
		differ("entries", len(log), 8*25), differ("entries, each once", len(slices.Compact(log)), 8*25))
}

func increment(ctx context.Context, s Subject, id string, afterRead func()) error {
	for {
		read, err := s.Read(ctx, "k")
		afterRead()
		if err != nil {
			return err
		}
		if _, err := commit(ctx, s, read, id); !errors.Is(err, backends.ErrConflict) {
			return err
		}
	}
}

func contendedSettles(ctx context.Context, s Subject) error {
	record, err := commit(ctx, s, Record{}, "a")
	landed := 0
	for _, err := range together(8, func(int) error { return s.Settle(ctx, "k", record) }) {
		if err == nil {
			landed++
		} else if err := wantClass("settle", err, backends.ErrConflict); err != nil {
			return err
		}
	}
	return errors.Join(err, differ("landed", landed, 1))
}

func together(n int, do func(int) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { errs[i] = do(i) })
	}
	all.Wait()
	return errs
}

func rowsOnce(ctx context.Context, s Subject) error {
	if s.Rows == nil {
		return nil
	}
	record, err := commit(ctx, s, Record{}, "a", "b", "c")
	before, beforeErr := s.Rows.Missing(ctx, "k", record)
	puts := [][]error{
		s.Rows.Put(ctx, "k", nil),
		s.Rows.Put(ctx, "k", []string{"b"}),
		s.Rows.Put(ctx, "k", []string{"a", "b", "a"}),
	}
	after, afterErr := s.Rows.Missing(ctx, "k", record)
	elsewhere, elsewhereErr := s.Rows.Missing(ctx, "other", record)
	shown, viewErr := s.View(ctx, "k")
	slices.Sort(shown)
	return errors.Join(err, beforeErr, afterErr, elsewhereErr, viewErr,
		differ("missing before", before, []string{"a", "b", "c"}),
		differ("answers", puts, [][]error{{}, {nil}, {nil, nil, nil}}),
		differ("missing after", after, []string{"c"}),
		differ("missing elsewhere", elsewhere, record.Body),
		differ("rows", shown, []string{"a", "b"}))
}
