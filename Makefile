# Every module is tested on its own, as its users get it: GOWORK=off.
export GOWORK := off

# Modules that need nothing but Go, and those whose tests need a server or more time.
PURE     := . examples backends/sheets backends/sqlite
SERVICES := backends/postgres backends/etcd
MODULES  := $(PURE) $(SERVICES) bench internal/tools
STATIC   := $(CURDIR)/bin/staticcheck

.PHONY: help all demo test race sim check lint bench tidy

help: ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 10

all: lint test ## lint and test

demo: ## run the main job: writers, an outage of the view, and its recovery
	go -C examples run ./projectedwrites

test: ## the tests of every module that needs nothing but Go
	@set -e; for m in $(PURE); do echo "== $$m"; go -C $$m test ./...; done

race: ## the core's tests under the race detector
	go test -race ./...

check: lint test race ## everything

lint: $(STATIC) ## gofmt, vet and staticcheck, in every module
	@files=$$(git ls-files '*.go' | xargs gofmt -l); if [ -n "$$files" ]; then echo "not gofmted: $$files"; exit 1; fi
	@set -e; for m in $(MODULES); do (cd $$m; go vet ./...; $(STATIC) ./...); done

$(STATIC): internal/tools/go.sum
	go -C internal/tools build -o $@ honnef.co/go/tools/cmd/staticcheck

bench: ## side-by-side benchmarks; writes docs/benchmarks.md
	go -C bench run .

tidy: ## go mod tidy in every module
	@set -e; for m in $(MODULES); do go -C $$m mod tidy; done
