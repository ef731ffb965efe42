package main

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"

	"github.com/goferry/goferry/backends/faults"
)

const (
	maxClients = 512
	maxSkew    = 3
)

// controls are what the page can change.
type controls struct {
	View    string  `json:"view"`    // up or down
	Commits string  `json:"commits"` // up or down
	Load    string  `json:"load"`    // on or off
	Clients int     `json:"clients"`
	Skew    float64 `json:"skew"` // 0 is even; the larger, the hotter the hottest account
}

func (o options) controls() controls {
	return controls{View: "up", Commits: "up", Load: "on", Clients: o.clients, Skew: o.skew}
}

func (c controls) check() error {
	switch {
	case c.View != "up" && c.View != "down":
		return errors.New("view must be up or down")
	case c.Commits != "up" && c.Commits != "down":
		return errors.New("commits must be up or down")
	case c.Load != "on" && c.Load != "off":
		return errors.New("load must be on or off")
	case c.Clients < 1 || c.Clients > maxClients:
		return fmt.Errorf("clients must be between 1 and %d", maxClients)
	case !(c.Skew >= 0 && c.Skew <= maxSkew): // Not NaN either.
		return fmt.Errorf("skew must be between 0 and %d", maxSkew)
	}
	return nil
}

// with answers c with the fields of form, which names only those that change. Its error names the field.
func (c controls) with(form url.Values) (controls, error) {
	if len(form) == 0 {
		return c, errors.New("nothing to change: send a form with view, commits, load, clients or skew")
	}
	for _, field := range slices.Sorted(maps.Keys(form)) {
		if len(form[field]) > 1 {
			return c, fmt.Errorf("%s is given more than once", field)
		}
		if err := c.set(field, form.Get(field)); err != nil {
			return c, err
		}
	}
	return c, c.check()
}

func (c *controls) set(field, value string) (err error) {
	switch field {
	case "view":
		c.View = value
	case "commits":
		c.Commits = value
	case "load":
		c.Load = value
	case "clients":
		if c.Clients, err = strconv.Atoi(value); err != nil {
			return errors.New("clients must be a whole number")
		}
	case "skew":
		if c.Skew, err = strconv.ParseFloat(value, 64); err != nil {
			return errors.New("skew must be a number")
		}
	default:
		return fmt.Errorf("there is no field %q", field)
	}
	return nil
}

func (c *console) controls() controls {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// change changes the fields of form, all or none, and answers what is set now.
func (c *console) change(form url.Values) (controls, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	next, err := c.state.with(form)
	if err != nil {
		return c.state, err
	}
	c.state = next
	c.apply(next)
	return next, nil
}

// begin applies what is set from the start.
func (c *console) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.apply(c.state)
}

// apply makes it so. It may be called again with the same. c.mu is held.
func (c *console) apply(to controls) {
	outage := func(op faults.Op, state string) {
		if state == "down" {
			c.faults.Break(op)
		} else {
			c.faults.Heal(op)
		}
	}
	outage(faults.Project, to.View)
	outage(faults.Commit, to.Commits)
	c.load.skewTo(to.Skew)
	if to.Load == "off" {
		to.Clients = 0
	}
	c.load.resize(to.Clients)
}
