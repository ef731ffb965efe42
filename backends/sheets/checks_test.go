//go:build !race

package sheets_test

// histories is how many a simulation goes through.
const histories = 30
