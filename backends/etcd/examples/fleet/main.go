// Fleet has three processes write to the accounts of one etcd cluster of three nodes, with clients that reach whichever process
// they like. While they write, the leading node is killed and later started again, and one process is killed. In the end every
// acknowledged entry must be once in the log and once in the view of its account.
//
//	go run ./fleet
//
// It exits with 1 if anything is lost, doubled or left behind. The nodes run in this process, so that one command is all it
// takes; the writers are this program again.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"
)

// child names the process that this program is to be, and endpoints where its cluster is.
const (
	child     = "GOFERRY_FLEET_PROCESS"
	endpoints = "GOFERRY_FLEET_ENDPOINTS"
)

func main() {
	if err := start(); err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func start() error {
	if name, ok := os.LookupEnv(child); ok {
		return process(context.Background(), name, strings.Split(os.Getenv(endpoints), ","), os.Stdin, os.Stdout)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	return run(ctx, os.Stdout, 3000)
}
