# Every module is tested on its own, as its users get it: GOWORK=off.
export GOWORK := off

# Modules that need nothing but Go, those whose tests need a server or more time, and the rest.
PURE     := . examples backends/sheets backends/sqlite observe/otel
SERVICES := backends/postgres backends/etcd backends/etcd/etcdtest backends/etcd/examples
MODULES  := $(PURE) $(SERVICES) bench bench/stores
STATIC   := $(CURDIR)/bin/staticcheck

# How many random histories each of the three simulations makes in check, and under the race detector.
HISTORIES := 400000
RACED     := 40000

.PHONY: help all demo test race sim mutants formal services check lint bench tidy

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

all: lint test ## lint and test

demo: ## run the main job: writers, an outage of the view, and its recovery
	go -C examples run ./projectedwrites

test: ## the tests of every module that needs nothing but Go
	@set -e; for m in $(PURE) bench bench/stores; do echo "== $$m"; go -C $$m test ./...; done

race: ## the same tests under the race detector
	@set -e; for m in $(PURE); do echo "== $$m"; go -C $$m test -race ./...; done

sim: ## every interleaving of larger worlds, and over a million random histories
	go test -count=1 -timeout=20m -v -run 'TestExplore|TestPartialHeal|Simulation|TestRefines' ./sim -args -sim.full -sim.histories=$(HISTORIES)
	go test -count=1 -timeout=20m -race -run Simulation ./sim -args -sim.histories=$(RACED)

mutants: ## switch every rule off, one at a time: a test must go red for each
	go run ./mutants

formal: ## every interleaving of the specifications, with TLC (needs java and python3)
	formal/run

services: ## the tests of the stores that are servers, under the race detector (needs PostgreSQL's programs and strace)
	@set -e; for m in $(filter-out backends/etcd/etcdtest,$(SERVICES)); do echo "== $$m"; go -C $$m test -race -timeout=20m ./...; done
	@# Three servers of etcd are in the process of these tests: the race detector makes them three times as slow.
	@echo "== backends/etcd/etcdtest"; go -C backends/etcd/etcdtest test -timeout=20m ./...
	go -C bench/stores test . -args -stores.all

check: lint test race sim mutants formal services ## everything

lint: $(STATIC) ## gofmt, vet and staticcheck, in every module
	@files=$$(git ls-files '*.go' | xargs gofmt -l); if [ -n "$$files" ]; then echo "not gofmted: $$files"; exit 1; fi
	@set -e; for m in $(MODULES); do (cd $$m; go vet ./...; $(STATIC) ./...); done

$(STATIC): internal/tools/go.sum
	go -C internal/tools build -o $@ honnef.co/go/tools/cmd/staticcheck

bench: ## side-by-side benchmarks; writes docs/benchmarks.md and docs/benchmarks-stores.md
	go -C bench run .
	go -C bench/stores run .

tidy: ## go mod tidy in every module
	@set -e; for m in $(MODULES) internal/tools; do go -C $$m mod tidy; done
