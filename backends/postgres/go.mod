module github.com/goferry/goferry/backends/postgres

go 1.26.0

require (
	github.com/goferry/goferry v0.0.0
	github.com/jackc/pgx/v5 v5.13.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/jackc/pgpassfile v1.0.0 // indirect
	github.com/jackc/pgservicefile v0.0.0-20240606120523-5a60cdf6a761 // indirect
	github.com/jackc/puddle/v2 v2.2.3 // indirect
	golang.org/x/sync v0.25.0 // indirect
	golang.org/x/text v0.41.0 // indirect
)

// Test dependencies.
require (
	go.uber.org/goleak v1.3.0
	pgregory.net/rapid v1.3.0 // indirect
)

replace github.com/goferry/goferry => ../..
