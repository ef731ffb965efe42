package main

import (
	"slices"

	"github.com/goferry/goferry/bench/internal/report"
)

// acceptance is the section of what the stores were to be, and what they are.
func acceptance(all []measured) string {
	header, table := []string{""}, [][]string(nil)
	for column, m := range all {
		header = append(header, m.title)
		for _, g := range m.Goals {
			at := slices.IndexFunc(table, func(row []string) bool { return row[0] == g.What })
			if at < 0 {
				at = len(table)
				table = append(table, append([]string{g.What}, make([]string, len(all))...))
			}
			table[at][1+column] = g.String()
		}
	}
	return acceptanceText + report.Table(header, table) + decidedText + decided(all)
}

const acceptanceText = `
## Acceptance

In brackets is what was aimed at. Aims of entries/s and of times are for two cores and a disk that syncs in 0.13 ms, and a busy machine
misses them; those of ratios hold for any disk, and those of counts on any machine: the program fails if one of them is missed.

`

const decidedText = `
What no figure shows is decided by tests of the stores' modules:

`

// tests decide the rest, by the name of the engine.
var tests = []struct {
	what string
	by   map[string]string
}{
	{"every rule of the contract", map[string]string{
		"sqlite": "TestContract, TestKit", "postgres": "TestContract in four modes, TestKit", "etcd": "TestContract, TestContractWithoutOneNode, TestKit"}},
	{"several writers of the same data", map[string]string{
		"sqlite": "TestProcesses", "postgres": "TestGroupsDoNotDeadlock, TestKit", "etcd": "TestHistory, TestFleet"}},
	{"writing processes are killed", map[string]string{"sqlite": "TestKit", "postgres": "TestKit", "etcd": "TestFleet"}},
	{"servers are killed", map[string]string{"postgres": "TestKit", "etcd": "TestKit, TestLeaderKilled"}},
	{"a reply is lost, or a request", map[string]string{"postgres": "TestKit, TestLostOnTheWay", "etcd": "TestKit, TestOutcomes"}},
	{"a connection goes silent", map[string]string{"postgres": "TestBlackHole", "etcd": "TestBlackHole, TestDeadConnectionIsClosed"}},
	{"the power of the disk is cut", map[string]string{"sqlite": "TestKit", "postgres": "TestKit", "etcd": "not tried"}},
	{"5,000 commits are cancelled at random", map[string]string{
		"sqlite": "TestCancelledCommits", "postgres": "TestCancelledCommits", "etcd": "TestCancelledCommits"}},
	{"a disk is full", map[string]string{"sqlite": "TestDiskFull, TestFullFile", "postgres": "not tried", "etcd": "TestNoSpace"}},
	{"20,000 rows in a projection; etcd: 1,000", map[string]string{
		"sqlite": "TestManyRows", "postgres": "TestManyRows", "etcd": "TestTransactions, TestTooLarge"}},
}

func decided(all []measured) string {
	header, table := []string{""}, [][]string(nil)
	for _, m := range all {
		header = append(header, m.title)
	}
	for _, t := range tests {
		row := []string{t.what}
		for _, m := range all {
			row = append(row, t.by[m.Engine])
		}
		table = append(table, row)
	}
	return report.Table(header, table)
}

// String shows the figure and, in brackets, what it should be.
func (g goal) String() string {
	relation := " (<= "
	if g.Least {
		relation = " (>= "
	}
	want := relation + g.show(g.Want) + ")"
	switch {
	case g.Skipped != "":
		return "skipped: " + g.Skipped + want
	case !g.Met:
		return "**missed** " + g.show(g.Got) + want
	}
	return g.show(g.Got) + want
}
