package demo

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"

	"github.com/goferry/goferry/examples/internal/ledger"
)

// open answers the entries to write, and their number if it is known.
func open(o Options, stdin io.Reader) (iter.Seq2[ledger.Entry, error], int, error) {
	switch o.Input {
	case "":
		return generate(o), o.Entries, nil
	case "-":
		return lines(stdin), 0, nil
	}
	file, err := os.Open(o.Input)
	if err != nil {
		return nil, 0, err
	}
	return func(yield func(ledger.Entry, error) bool) {
		defer file.Close()
		lines(file)(yield)
	}, 0, nil
}

// generate makes entries that are the same for the same seed, most of them for few accounts.
func generate(o Options) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		random := rand.New(rand.NewPCG(o.Seed, 0))
		accounts := rand.NewZipf(random, 1.1, 4, uint64(o.Keys-1))
		for i := range o.Entries {
			entry := ledger.Entry{
				ID:      fmt.Sprintf("%d-%d", o.Seed, i),
				Account: fmt.Sprintf("account-%d", accounts.Uint64()),
				Cents:   random.Int64N(20_000) - 10_000,
			}
			if !yield(entry, nil) {
				return
			}
		}
	}
}

// lines reads entries as JSON lines. A bad line is an error that says its number and what is wrong, not what it
// says; the other lines are read all the same. Empty lines are skipped.
func lines(r io.Reader) iter.Seq2[ledger.Entry, error] {
	return func(yield func(ledger.Entry, error) bool) {
		in := bufio.NewReader(r)
		for number := 1; ; number++ {
			line, err := in.ReadBytes('\n')
			if line = bytes.TrimSpace(line); len(line) > 0 {
				entry, bad := decode(line)
				if bad != nil {
					bad = fmt.Errorf("line %d: %w", number, bad)
				}
				if !yield(entry, bad) {
					return
				}
			}
			if err != nil {
				if err != io.EOF {
					yield(ledger.Entry{}, fmt.Errorf("after line %d: %w", number-1, err))
				}
				return
			}
		}
	}
}

func decode(line []byte) (ledger.Entry, error) {
	var entry ledger.Entry
	if err := json.Unmarshal(line, &entry); err != nil {
		return entry, explain(err)
	}
	switch {
	case entry.ID == "":
		return entry, errors.New("the field id is missing or empty")
	case entry.Account == "":
		return entry, errors.New("the field account is missing or empty")
	}
	return entry, nil
}

// explain says what is wrong with a line without quoting it.
func explain(err error) error {
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("the field %s cannot be a %s", e.Field, e.Value)
	}
	if e, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("not JSON from its byte %d on", e.Offset)
	}
	return err
}
