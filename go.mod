module github.com/goferry/goferry

go 1.26.0

// For tests, simulations and tools: what the library packages import, all but sim, is the standard library.
require (
	github.com/anishathalye/porcupine v1.3.1
	go.uber.org/goleak v1.3.0
	golang.org/x/sync v0.25.0
	pgregory.net/rapid v1.3.0
)

require github.com/stretchr/testify v1.8.1 // indirect
