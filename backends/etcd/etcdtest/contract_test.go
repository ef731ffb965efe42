package etcdtest_test

import (
	"testing"

	"github.com/goferry/goferry/backends/internal/contract"
	"github.com/goferry/goferry/backends/internal/storetest"
)

// TestContract has every check of single calls.
func TestContract(t *testing.T) {
	t.Parallel()
	testContract(t, common.Endpoints())
}

func testContract(t *testing.T, endpoints []string) {
	for name, of := range contractSubjects {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			contract.Test(t, func() contract.Subject { return of(open(t, endpoints...)) })
		})
	}
}

func TestRoundTrips(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			storetest.Test(t, func(t *testing.T) storetest.Subject { return kind.Of(open(t, common.Endpoints()...)) })
		})
	}
}

// TestContractWithoutOneNode runs them on a cluster of three that has lost one, which its clients still try.
func TestContractWithoutOneNode(t *testing.T) {
	t.Parallel()
	cluster := start(t, calm)
	cluster.Kill(leaderOf(t, cluster))
	fenceOf(t, newRows(open(t, cluster.Endpoints()...)), "k")
	t.Run("contract", func(t *testing.T) { testContract(t, cluster.Endpoints()) })
	t.Run("round trips", func(t *testing.T) {
		storetest.Test(t, func(t *testing.T) storetest.Subject { return kinds[2].Of(open(t, cluster.Endpoints()...)) })
	})
}

func TestModel(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.Name, func(t *testing.T) {
			t.Parallel()
			storetest.Model(t, kind.Of(open(t, common.Endpoints()...)), kind.Model)
		})
	}
}

func TestCancelledCommits(t *testing.T) {
	t.Parallel()
	storetest.Cancelled(t, kinds[0].Of(open(t, common.Endpoints()...)), 5000)
}
