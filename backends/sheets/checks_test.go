//go:build !race

package sheets_test

const checks = "30"
