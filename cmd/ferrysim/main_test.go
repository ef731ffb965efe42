package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Parallel()
	tests := []struct {
		args   []string
		want   []string
		broken bool
	}{
		{args: []string{"-list"}, want: []string{"a crash between two rows", "the clear has no fence (honest marker)", "worlds"}},
		{args: []string{"-story", "a crash between two rows"}, want: []string{"put k [b] - crashes", "s returns: nothing pending"}},
		{args: []string{"-off", "the clear has no fence"}, want: []string{`law "honest marker" broken`, "schedule: []int{"}, broken: true},
		{args: []string{"-world", "log", "-preemptions", "1"}, want: []string{"log only, flag: faults 1", "interleavings"}},
		{args: []string{"-world", "rows", "-marker", "watermark", "-random", "50", "-seed", "3"}, want: []string{"50 random histories from seed 3, no law broken"}},
		{args: []string{"-replay", "0, 0,1"}, want: []string{"schedule: []int{0, 0, 1, 0"}},
	}
	for _, tt := range tests {
		var out strings.Builder
		err := run(tt.args, &out, &out)
		if tt.broken != errors.Is(err, errBroken) || !tt.broken && err != nil {
			t.Errorf("%q: got error %v, want broken = %v", tt.args, err, tt.broken)
		}
		for _, want := range tt.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: no %q in:\n%s", tt.args, want, out.String())
			}
		}
	}
}

func TestPictures(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"-off", "rows are written unconditionally"}, {"-story", "a stale clear"}, {"-world", "log", "-preemptions", "0"}, {"-random", "1"},
	} {
		file := filepath.Join(t.TempDir(), "history.html")
		var out strings.Builder
		if err := run(append(args, "-html", file), &out, &out); err != nil && !errors.Is(err, errBroken) {
			t.Errorf("%q: %v", args, err)
		}
		if page, err := os.ReadFile(file); err != nil || !strings.Contains(string(page), "the store after") {
			t.Errorf("%q: got no page: %v", args, err)
		}
	}
}

func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-world", "flat"}, "-world flat: want log, whole or rows"},
		{[]string{"-marker", "x"}, "-marker x: want flag or watermark"},
		{[]string{"-story", "nobody"}, `nothing with "nobody"`},
		{[]string{"-off", "fence"}, `have "fence" in their names`},
		{[]string{"-replay", "0,x"}, `"x" is not a choice`},
		{[]string{"stray"}, "without a flag"},
		{[]string{"-html", filepath.Join("no", "such", "folder"), "-story", "a stale clear"}, "no such file"},
	} {
		var out strings.Builder
		if err := run(tt.args, &out, &out); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: got %v, want %q", tt.args, err, tt.want)
		}
	}
}
