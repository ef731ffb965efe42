//go:build race

package sheets_test

// The detector makes a history six times as slow.
const checks = "6"
