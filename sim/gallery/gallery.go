// Package gallery is a collection of small worlds for the sim package: situations told by a script, and rules switched
// off with the smallest history that shows it. The tests of sim run them, and the ferrysim command draws them.
package gallery

import "github.com/goferry/goferry/sim"

// Usual is what goes wrong in most explorations: a refused or a lost write is a late one that lands never or at once.
const Usual = sim.FailRead | sim.Delay

// Writer is a process that submits batches for the key k.
func Writer(name string, batches ...string) sim.Process {
	p := sim.Process{Name: name}
	for _, letters := range batches {
		p.Calls = append(p.Calls, sim.Submit("k", letters))
	}
	return p
}

// Sweeper is a process that visits the key k.
func Sweeper(name string, visits int) sim.Process {
	p := sim.Process{Name: name}
	for range visits {
		p.Calls = append(p.Calls, sim.Resume("k"))
	}
	return p
}
