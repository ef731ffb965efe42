package main

import "testing"

func TestNothingIsLost(t *testing.T) {
	t.Parallel()
	if err := run(t.Context(), "", 5); err != nil {
		t.Fatal(err)
	}
}
