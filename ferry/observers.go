package ferry

import (
	"context"
	"slices"
)

// Observers joins several observers into one. Each is told of everything, whatever becomes of the others. The context of
// a call goes through their BatchStarted in order, each deriving from what the one before it answered. Their BatchEnded
// are called in the reverse order, as deferred functions are, all with the context that came out.
func Observers(observers ...Observer) Observer {
	all := slices.Clone(observers)
	return Observer{
		BatchStarted: func(ctx context.Context, b Batch) context.Context {
			for i := range all {
				ctx = all[i].started(ctx, b)
			}
			return ctx
		},
		BatchEnded: func(ctx context.Context, b Batch, err error) {
			for i := range slices.Backward(all) {
				all[i].ended(ctx, b, err)
			}
		},
		Overloaded: func(key any, bound Bound) {
			for i := range all {
				all[i].overloaded(key, &BoundError{Bound: bound})
			}
		},
	}
}
