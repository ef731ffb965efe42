package ferry

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// LogObserver makes an observer that says in log, at the level of warnings, which batches failed and why, and how many
// inputs were refused. Keys and errors are logged, inputs never; an error says what the call put into it.
//
// Refusals are told at most once a second for each bound, with their number since they were told last, and with the
// key of the latest: the first at once, those of the rest of that second with the first one after it. [Ferry.Stats] has
// their exact number at any time. It panics if log is nil.
func LogObserver(log *slog.Logger) Observer {
	if log == nil {
		panic("ferry: LogObserver: log is nil")
	}
	var refused refusals
	return Observer{
		BatchEnded: func(ctx context.Context, b Batch, err error) {
			if err != nil {
				logBatch(ctx, log, "batch failed", b, slog.Any("error", err))
			}
		},
		Overloaded: func(key any, bound Bound) {
			if n := refused.toTell(bound); n > 0 {
				log.LogAttrs(context.Background(), slog.LevelWarn, "inputs refused",
					slog.String("bound", string(bound)), slog.Int("count", n), slog.Any("key", key))
			}
		},
	}
}

// LogSlow makes an observer that says in log, at the level of warnings, which calls took longer than limit, whether they
// failed or not. It is to be joined to others with [Observers]. It panics if log is nil.
func LogSlow(log *slog.Logger, limit time.Duration) Observer {
	if log == nil {
		panic("ferry: LogSlow: log is nil")
	}
	return Observer{BatchEnded: func(ctx context.Context, b Batch, _ error) {
		if time.Since(b.Start) > limit {
			logBatch(ctx, log, "batch slow", b, slog.Duration("limit", limit))
		}
	}}
}

func logBatch(ctx context.Context, log *slog.Logger, what string, b Batch, why slog.Attr) {
	log.LogAttrs(ctx, slog.LevelWarn, what,
		slog.Any("key", b.Key), slog.Int("size", b.Size),
		slog.Duration("wait", b.Wait), slog.Duration("took", time.Since(b.Start)), why)
}

// refusals counts the inputs refused, by bound, between one telling and the next.
type refusals struct {
	mu    sync.Mutex
	count map[Bound]int       // guarded by mu; since they were told last
	told  map[Bound]time.Time // guarded by mu
}

// toTell counts one more, and answers how many are to be told now, 0 if it is too early. It takes no timer, so what
// is left over waits for the next refusal.
func (r *refusals) toTell(bound Bound) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.told == nil {
		r.count, r.told = map[Bound]int{}, map[Bound]time.Time{}
	}
	r.count[bound]++
	if last, before := r.told[bound]; before && time.Since(last) < time.Second {
		return 0
	}
	n := r.count[bound]
	r.count[bound], r.told[bound] = 0, time.Now()
	return n
}
