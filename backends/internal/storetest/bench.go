package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// Bench is the benchmarks of a store, each on what open answers, which must be empty. transactions answers how many there have been.
func Bench[DB any](b *testing.B, kinds []Kind[DB], open func(b *testing.B) DB, transactions func(DB) uint64) {
	body := Record{Body: Log{Entries: []Entry{{ID: strings.Repeat("x", 1024)}}}}
	b.Run("read and commit 1 KiB", func(b *testing.B) {
		s := kinds[0].Of(open(b))
		b.ReportAllocs()
		for b.Loop() {
			record, err := s.Read(b.Context(), "k")
			if err == nil {
				_, err = s.Commit(b.Context(), "k", record, body)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("commit, 64 writers of a key each", func(b *testing.B) {
		db := open(b)
		s := kinds[0].Of(db)
		b.ReportAllocs()
		var all sync.WaitGroup
		for w := range 64 {
			all.Go(func() {
				var record Record
				for n := w; n < b.N; n += 64 {
					var err error
					if record, err = s.Commit(b.Context(), fmt.Sprint(w), record, body); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		b.ReportMetric(float64(transactions(db))/float64(b.N), "transactions/op")
	})
	b.Run("commit and project 64 rows", func(b *testing.B) {
		s := kinds[2].Of(open(b))
		var log Log
		for n := range 64 {
			log.Entries = append(log.Entries, Entry{ID: fmt.Sprint(n), N: n})
		}
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n++
			key := fmt.Sprint(n)
			record, err := s.Commit(b.Context(), key, none, Record{Body: log, Behind: true})
			if err == nil {
				_, err = s.Project(b.Context(), key, record)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(64*n)/b.Elapsed().Seconds(), "rows/s")
	})
}
