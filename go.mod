module github.com/goferry/goferry

go 1.26.0

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/sourcegraph/conc v0.3.0 // indirect
	go.uber.org/goleak v1.3.0 // indirect
	golang.org/x/sync v0.25.0 // indirect
	pgregory.net/rapid v1.3.0 // indirect
)
