// Benchmarks beside other libraries, in a module of their own so that nobody who imports goferry sees those.
module github.com/goferry/goferry/bench

go 1.26.0

require (
	github.com/cenkalti/backoff/v5 v5.0.3
	github.com/failsafe-go/failsafe-go v0.9.8
	github.com/goferry/goferry v0.0.0
	github.com/sethvargo/go-retry v0.5.0
	go.uber.org/goleak v1.3.0
	gocloud.dev v0.49.0
	google.golang.org/api v0.315.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	golang.org/x/sync v0.25.0 // indirect
)

replace github.com/goferry/goferry => ..
