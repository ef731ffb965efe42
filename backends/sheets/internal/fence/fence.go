// Package fence makes an atomic batch of spreadsheet edits conditional: it lands only as the direct successor of
// the commit that its writer read.
//
// The service has no such condition of its own. It has two operations that fail, and with them their whole
// batch, if they were done before: creating a developer metadata entry with an explicit id that is in use, and
// deleting a sheet that is gone. Each commit has a number; its batch takes the id, or the sheet, that belongs
// to the number. So of all batches for one number at most one ever lands, however late, however often it is sent.
package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/grid"
	"github.com/goferry/goferry/schedule"
)

// Kind is how a fence makes the server refuse a second commit of one number. It is part of the format: every writer
// of a spreadsheet uses the same.
type Kind interface {
	// guard answers the requests that fail if commit from.Number+1 was made before.
	guard(from, next State) []*sheetsv4.Request
	// holder answers the token of the commit from.Number+1, or nothing if none is visible.
	holder(ctx context.Context, f *Fence, from State) (string, error)
	// sheetID is the id of the sheet that holds the fence row s.
	sheetID(s State) int64
	// first answers what fills a new fence sheet.
	first(s State) []*sheetsv4.Request
	// full says that next is due to go to a new fence sheet.
	full(s State) bool
}

// Fence guards the batches of one spreadsheet. Any number of goroutines and processes may use one each.
type Fence struct {
	client  *grid.Client
	kind    Kind
	protect grid.Protection
}

// New makes the fence of the client's spreadsheet. It does not touch the spreadsheet.
func New(client *grid.Client, kind Kind, protect grid.Protection) *Fence {
	return &Fence{client: client, kind: kind, protect: protect}
}

// The outcomes of a commit that did not succeed.
var (
	// ErrConflict: another commit took the number. Nothing was written, and nothing will be.
	ErrConflict = errors.New("fence: another commit came first")
	// ErrRefused: the server does not accept the batch. Nothing was written, and nothing will be; the number is
	// taken by a probe that proves it.
	ErrRefused = errors.New("fence: the batch is not acceptable")
	// ErrDenied: the caller may not write the spreadsheet. Nothing was written.
	ErrDenied = errors.New("fence: access denied")
	// ErrUnknown: the commit may have happened, or may still.
	ErrUnknown = errors.New("fence: outcome unknown")
)

// Guard answers the requests that let a batch land only as the successor of from, and make next the state.
// They come first in the batch.
func (f *Fence) Guard(from, next State) []*sheetsv4.Request {
	return append(f.kind.guard(from, next), f.row(next))
}

func (f *Fence) row(s State) *sheetsv4.Request {
	return grid.Write(f.kind.sheetID(s), 1, 0, s.cells())
}

// brief bounds how often a batch is sent again after an answer that proves nothing.
var brief = schedule.Exponential(500 * time.Millisecond).Jittered().And(schedule.Recurs(3))

// Commit sends requests as the successor of from. With a nil error they were applied; the view shows ranges, or is nil if the
// answer that showed them was lost. An answer that proves nothing makes it send the identical bytes again: at
// most one of them lands.
func (f *Fence) Commit(ctx context.Context, from, next State, requests []*sheetsv4.Request, ranges ...string) (*grid.View, error) {
	return f.commit(ctx, from, next, append(f.Guard(from, next), requests...), ranges...)
}

func (f *Fence) commit(ctx context.Context, from, next State, batch []*sheetsv4.Request, ranges ...string) (*grid.View, error) {
	throttled, lost := grid.Patience().Start(), brief.Start()
	for unsure := false; ; unsure = true {
		view, err := f.client.Batch(ctx, batch, ranges...)
		if err == nil {
			return view, nil
		}
		failure, _ := errors.AsType[*grid.Failure](err)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		case failure.Kind == grid.Denied && !unsure:
			return nil, fmt.Errorf("%w: %w", ErrDenied, err)
		case failure.Kind == grid.Refused:
			return nil, f.Resolve(ctx, from, next.Token)
		}
		if unsure && f.visible(ctx, from) {
			return nil, f.Resolve(ctx, from, next.Token)
		}
		wait := lost
		if failure.Kind == grid.Throttled {
			wait = throttled
		}
		delay, again := wait.Next(err)
		if !again || schedule.Sleep(ctx, delay) != nil {
			return nil, fmt.Errorf("%w: %w", ErrUnknown, err)
		}
	}
}

// visible says whether the number after from is seen to be taken: a server that answers everything with 500 does
// not say it.
func (f *Fence) visible(ctx context.Context, from State) bool {
	token, err := f.kind.holder(ctx, f, from)
	return err == nil && token != ""
}

// Resolve is [Fence.Settle] as the error of a commit: nil, [ErrConflict], [ErrRefused] or [ErrUnknown].
func (f *Fence) Resolve(ctx context.Context, from State, token string) error {
	outcome, err := f.Settle(ctx, from, token)
	switch {
	case err != nil:
		return err
	case outcome == Committed:
		return nil
	case outcome == Superseded:
		return ErrConflict
	case outcome == Barred:
		return ErrRefused
	}
	return ErrUnknown
}

// Outcome is what became of a commit.
type Outcome int

// The outcomes of a commit.
const (
	// Unknown: it may have happened, or may still.
	Unknown Outcome = iota
	// Committed: it happened.
	Committed
	// Superseded: another commit has its number. It did not happen and never will.
	Superseded
	// Barred: a probe has its number. It did not happen and never will, and no rival is to blame.
	Barred
)

// settling bounds how long a marker may hide from stale reads.
var settling = schedule.Exponential(500 * time.Millisecond).Capped(15 * time.Second).Jittered().UpTo(180 * time.Second)

// Settle finds out what became of the commit after from that was made under token, and sees to it that the answer
// is final: a commit that is not visible is barred by a probe, an empty commit of the same number. It
// may take three minutes; it answers Unknown when it cannot tell, never that an unseen commit did not happen.
func (f *Fence) Settle(ctx context.Context, from State, token string) (Outcome, error) {
	probe := from.Next()
	waits := settling.Start()
	for {
		held, err := f.kind.holder(ctx, f, from)
		switch {
		case errors.Is(err, ErrForeign):
			return Unknown, err
		case held == token:
			return Committed, nil
		case held == probe.Token:
			return Barred, nil
		case held != "":
			return Superseded, nil
		}
		if _, err = f.client.Batch(ctx, f.Guard(from, probe)); err == nil {
			return Barred, nil
		}
		delay, again := waits.Next(err)
		if !again || schedule.Sleep(ctx, delay) != nil {
			return Unknown, nil
		}
	}
}

// Full says that the next commit after s should be a [Fence.Roll].
func (f *Fence) Full(s State) bool { return f.kind.full(s) }

// Roll commits nothing but a move to a new fence sheet with a new block of ids. It answers the state after it.
func (f *Fence) Roll(ctx context.Context, from State) (State, error) {
	tabs, err := f.client.Tabs(ctx)
	if err != nil {
		return State{}, err
	}
	if standing := tabs.Tabs[Title]; standing == nil || standing.ID != f.kind.sheetID(from) {
		return State{}, ErrConflict // Somebody rolled before us, or this view is older than from.
	}
	block, err := f.freeBlock(ctx, from.BlockStart+blockSize)
	if err != nil {
		return State{}, err
	}
	next := from.Next()
	next.Epoch, next.BlockStart, next.BlockFirst = from.Epoch+1, block, next.Number+1
	batch := f.kind.guard(from, next)
	if prev := tabs.Tabs[PrevTitle]; prev != nil {
		if prev.ID != f.kind.sheetID(State{Number: from.Number, Epoch: from.Epoch - 1}) {
			return State{}, ErrForeign
		}
		batch = append(batch, grid.DeleteTab(prev.ID))
	}
	batch = append(batch, grid.Rename(f.kind.sheetID(from), PrevTitle))
	batch = append(batch, f.sheet(next)...)
	_, err = f.commit(ctx, from, next, append(batch, f.row(next)))
	return next, err
}

// sheet answers the requests that make the fence sheet of s, its row not included.
func (f *Fence) sheet(s State) []*sheetsv4.Request {
	id := f.kind.sheetID(s)
	return []*sheetsv4.Request{grid.AddTab(id, Title, 2, columns, true), f.protect.Protect(id)}
}
