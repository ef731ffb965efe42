package ferry

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"time"
)

// Config bounds a ferry. The zero value of every field means its default, and a negative value of a bound or of
// a timeout means unlimited.
type Config struct {
	// MaxBatch bounds the inputs of one call. Default 256.
	MaxBatch int
	// MaxWeight bounds the weight of one call's inputs. An input that weighs more is refused. Default unlimited.
	MaxWeight int
	// MaxQueued bounds the inputs that are accepted and not yet handed to a call. Default 16,384.
	MaxQueued int
	// MaxQueuedWeight bounds the weight of those inputs. An input that weighs more is refused. Default unlimited.
	MaxQueuedWeight int
	// MaxQueuedPerKey bounds those inputs for each key, so that one hot key does not fill the queue.
	// Default a quarter of MaxQueued, at least 1.
	MaxQueuedPerKey int
	// MaxInFlight bounds the calls that are out at once, over all keys. Default 64.
	MaxInFlight int
	// BatchTimeout is the deadline of a call's context, from its start. Default 30 s.
	BatchTimeout time.Duration
	// CancelGrace is how long a call may take to return once its context has ended. When it has passed, the callers
	// of the batch are told that the outcome is unknown. Default 1 s.
	CancelGrace time.Duration
	// Linger is how long a batch waits for further inputs before it may be sent. It starts with the first input,
	// or, for a batch that formed during a call, when that call ends. A full batch, a bound that is reached, a
	// flush and Close end it. Default 0: an idle lane sends at once. Negative is refused.
	Linger time.Duration
	// Overflow says what happens to an input that a bound has no room for. Default Reject.
	Overflow Overflow
	// Observer is told of batches and refusals. Default none.
	Observer Observer

	_ struct{}
}

// Overflow says what a full queue does to the next input: [Reject], [Wait], or [WaitUpTo] a time.
type Overflow time.Duration

const (
	// Reject refuses the input with [ErrOverloaded] before anything of it is queued.
	Reject Overflow = 0
	// Wait lets the caller wait for room, first come, first served, for as long as its context goes on.
	Wait Overflow = -1
)

// WaitUpTo is [Wait] for at most d, which must be positive, and then [Reject].
func WaitUpTo(d time.Duration) Overflow {
	if d <= 0 {
		panic(fmt.Sprintf("ferry: WaitUpTo(%v) is not positive", d))
	}
	return Overflow(d)
}

// Validate answers an error that names each field with a value that cannot be used.
func (c Config) Validate() error {
	var errs []error
	if c.Linger < 0 {
		errs = append(errs, fmt.Errorf("ferry: Config.Linger is negative: %v", c.Linger))
	}
	if c.Overflow < Wait {
		errs = append(errs, fmt.Errorf("ferry: Config.Overflow is neither Reject, Wait nor a time: %d", c.Overflow))
	}
	return errors.Join(errs...)
}

// withDefaults fills in the defaults and turns unlimited into the largest value, so that the engine has one rule.
func (c Config) withDefaults() Config {
	c.MaxBatch = bound(c.MaxBatch, 256)
	c.MaxWeight = bound(c.MaxWeight, -1)
	c.MaxQueued = bound(c.MaxQueued, 16384)
	c.MaxQueuedWeight = bound(c.MaxQueuedWeight, -1)
	c.MaxQueuedPerKey = bound(c.MaxQueuedPerKey, max(c.MaxQueued/4, 1))
	c.MaxInFlight = bound(c.MaxInFlight, 64)
	c.BatchTimeout = cmp.Or(c.BatchTimeout, 30*time.Second)
	c.CancelGrace = cmp.Or(c.CancelGrace, time.Second)
	return c
}

func bound(n, byDefault int) int {
	if n = cmp.Or(n, byDefault); n < 0 {
		return math.MaxInt
	}
	return n
}
