package main

import (
	"testing"

	"github.com/goferry/goferry/examples/internal/demo/demotest"
)

func TestMain(m *testing.M) { demotest.Main(m, "the view", build) }

func TestOutage(t *testing.T)     { demotest.Outage(t, "the view", build) }
func TestWrongView(t *testing.T)  { demotest.WrongView(t, "the view", build) }
func TestInput(t *testing.T)      { demotest.Input(t, "the view", build) }
func TestKilled(t *testing.T)     { demotest.Killed(t) }
func TestBadOptions(t *testing.T) { demotest.BadOptions(t, "the view", build) }
