package sheets_test

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// TestMain makes the simulations shorter than rapid's default unless the command line says how long: a check of
// theirs is a whole history. For more, go test -run Simulat -rapid.checks=1000.
func TestMain(m *testing.M) {
	flag.Parse()
	asked := os.Getenv("RAPID_CHECKS") != ""
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "rapid.checks" })
	if !asked {
		_ = flag.Set("rapid.checks", strconv.Itoa(histories))
	}
	os.Exit(m.Run())
}
