//go:build race

package sheets_test

// histories is how many a simulation goes through. The detector makes one six times as slow.
const histories = 6
