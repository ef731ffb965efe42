package fence

import (
	"context"
	"errors"
	"fmt"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/schedule"
)

// First is the state of a fence in a spreadsheet that has had none, or whose fence is to be replaced: commit number
// after the given one, in the epoch after the given one, with a block of ids that nobody uses.
func (f *Fence) First(ctx context.Context, number, epoch int64) (State, error) {
	block, err := f.freeBlock(ctx, firstBlock)
	if err != nil {
		return State{}, err
	}
	s := State{Number: number, Epoch: epoch + 1, BlockStart: block, Spreadsheet: f.client.ID()}.Next()
	s.BlockFirst = s.Number
	return s, nil
}

// Ours says whether a sheet with the fence's title, or the one before it, may be one of ours.
func (f *Fence) Ours(sheetID int64) bool {
	return sheetID >= swapSheets && sheetID < swapSheets+100_000_000 || sheetID >= metadataSheets && sheetID < metadataSheets+100_000_000
}

// Remains is what can be read of a fence row that Decode refuses: the highest number, epoch, counter and layout that it may
// have had.
func (f *Fence) Remains(view *grid.View) State {
	var s State
	tab := view.Tabs[Title]
	if tab == nil {
		return s
	}
	for i, field := range s.fields() {
		if !field.set(tab.At(2, i)) {
			field.set(0.0)
		}
	}
	if tab.ID > metadataSheets {
		s.Epoch = max(s.Epoch, tab.ID-metadataSheets)
	}
	return s
}

// Marks counts the entries that commits have left. No commit number is higher than what the fence row said, plus these.
func (f *Fence) Marks(ctx context.Context) (int64, error) {
	marks, err := f.client.Marks(ctx)
	n := int64(0)
	for _, m := range marks {
		if m.Key == markKey {
			n++
		}
	}
	return n, err
}

// Lay makes the fence sheet of s, in one batch with requests, and deletes the sheets old. The ids in it are
// chosen, so that of two processes that lay a fence at once one is refused: [ErrConflict].
func (f *Fence) Lay(ctx context.Context, s State, old []int64, requests []*sheetsv4.Request) error {
	var batch []*sheetsv4.Request
	batch = append(batch, f.sheet(s)...)
	batch = append(batch, f.kind.first(s)...)
	batch = append(batch, f.row(s))
	if len(old) > 0 {
		var drop []*sheetsv4.Request
		for _, id := range old {
			drop = append(drop, grid.DeleteTab(id))
		}
		batch = append(drop, batch...)
	}
	batch = append(batch, requests...)
	waits := grid.Patience().Start()
	for unsure := false; ; unsure = true {
		_, err := f.client.Batch(ctx, batch)
		if err == nil {
			return nil
		}
		failure, _ := errors.AsType[*grid.Failure](err)
		if failure.Kind == grid.Denied && !unsure {
			return fmt.Errorf("%w: %w", ErrDenied, err)
		}
		switch laid, err := f.laid(ctx, s); {
		case laid:
			return nil
		case err == nil:
			return ErrConflict
		case failure.Kind == grid.Refused && !unsure:
			return fmt.Errorf("%w: %w", ErrRefused, failure)
		}
		delay, again := waits.Next(err)
		if !again || schedule.Sleep(ctx, delay) != nil {
			return fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
}

// laid says whether the fence of s stands. The error says that none of its epoch, or of a later one, is seen.
func (f *Fence) laid(ctx context.Context, s State) (bool, error) {
	view, err := f.client.Tabs(ctx)
	if err != nil {
		return false, err
	}
	if view.Tabs[Title] == nil {
		return false, ErrMissing
	}
	if view, err = f.client.Read(ctx, Range()); err != nil {
		return false, err
	}
	got, err := f.Decode(view)
	if err != nil {
		return false, err
	}
	if got.Epoch < s.Epoch {
		return false, ErrMissing
	}
	return got.Holds(s.Number, s.Token), nil
}
