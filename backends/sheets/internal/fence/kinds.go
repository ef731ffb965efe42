package fence

import (
	"context"

	sheetsv4 "google.golang.org/api/sheets/v4"

	"github.com/goferry/goferry/backends/sheets/internal/grid"
)

// The ids are part of the format.
const (
	// metadataSheets + epoch is the id of a fence sheet of [Metadata], swapSheets + number of one of [Swap].
	metadataSheets = 1_700_000_000
	swapSheets     = 1_100_000_000
	// firstBlock is the first metadata id that is tried, blockSize how many belong to one epoch. Half a block
	// is left unused, for late writers to be refused in.
	firstBlock = 710_000_000
	blockSize  = 2000
	rollAfter  = 1000
	markKey    = "f"
)

// Metadata is the fence that takes a number by creating the developer metadata entry whose id belongs to it. It is the one
// to use: a batch costs one small request more.
func Metadata() Kind { return metadata{rollAfter} }

type metadata struct{ rollAfter int64 }

// id of the entry that belongs to the commit after s.
func (metadata) id(s State) int64 { return s.BlockStart + s.Number + 1 - s.BlockFirst }

func (metadata) sheetID(s State) int64 { return metadataSheets + s.Epoch }

func (k metadata) full(s State) bool { return s.Number+1-s.BlockFirst >= k.rollAfter }

// guard puts the entry on the sheet of from, also when next goes to a new sheet: so a stale writer and a roll
// want the same id.
func (k metadata) guard(from, next State) []*sheetsv4.Request {
	return []*sheetsv4.Request{k.mark(k.id(from), from, next.Token)}
}

func (k metadata) first(s State) []*sheetsv4.Request {
	return []*sheetsv4.Request{k.mark(s.BlockStart, s, s.Token)}
}

func (k metadata) mark(id int64, on State, token string) *sheetsv4.Request {
	return &sheetsv4.Request{CreateDeveloperMetadata: &sheetsv4.CreateDeveloperMetadataRequest{
		DeveloperMetadata: &sheetsv4.DeveloperMetadata{
			MetadataId: id, MetadataKey: markKey, MetadataValue: token, Visibility: "DOCUMENT",
			Location: &sheetsv4.DeveloperMetadataLocation{SheetId: k.sheetID(on)},
		},
	}}
}

func (k metadata) holder(ctx context.Context, f *Fence, from State) (string, error) {
	m, found, err := f.client.Mark(ctx, k.id(from))
	switch {
	case err != nil || !found:
		return "", err
	case m.Key != markKey || !m.OnSheet || m.SheetID != k.sheetID(from):
		return "", ErrForeign
	}
	return m.Value, nil
}

// freeBlock answers the first block from start on in which no entry is visible.
func (f *Fence) freeBlock(ctx context.Context, start int64) (int64, error) {
	marks, err := f.client.Marks(ctx)
	if err != nil {
		return 0, err
	}
	for taken := true; taken; {
		taken = false
		for _, m := range marks {
			if m.ID >= start && m.ID < start+blockSize {
				taken, start = true, start+blockSize
				break
			}
		}
	}
	return start, nil
}

// Swap is the fence that takes a number by deleting the sheet that belongs to the one before and adding its own. It
// costs a sheet per commit, and needs nothing of developer metadata.
func Swap() Kind { return swap{} }

type swap struct{}

func (swap) sheetID(s State) int64 { return swapSheets + s.Number }

func (swap) full(State) bool { return false }

func (k swap) first(State) []*sheetsv4.Request { return nil }

func (k swap) guard(from, next State) []*sheetsv4.Request {
	return []*sheetsv4.Request{
		grid.DeleteTab(k.sheetID(from)),
		grid.AddTab(k.sheetID(next), Title, 2, columns, true),
	}
}

// holder reads the fence row: it remembers the last commits.
func (k swap) holder(ctx context.Context, f *Fence, from State) (string, error) {
	view, err := f.client.Read(ctx, Range())
	if err != nil {
		return "", err
	}
	s, err := f.Decode(view)
	if err != nil {
		return "", err
	}
	return s.holder(from.Number + 1), nil
}
