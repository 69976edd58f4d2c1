# Two commands do everything: make demo, make test.
export GOTOOLCHAIN := go1.27.3

.PHONY: demo test scenarios sim race lint bench bench-all ci clean

demo: ## kill a job with SIGKILL again and again and verify its output
	@go build -o bin/cutwater ./cmd/cutwater
	@bin/cutwater demo

test: lint ## all tests that need only Go
	go test ./...

scenarios: ## which scenarios of the checkpointing specification are proven
	@go run ./internal/scenarios

SEEDS ?= 2000
sim: ## seeded schedules of the whole protocol, with crashes and lost messages: make sim SEEDS=100000
	@go run ./internal/sim -seeds $(SEEDS)

race: ## the same under the race detector
	go test -race -short ./...
	go test -short -tags cutwater_poison ./internal/backend/memory ./internal/transform # pointers to state that are kept too long

lint:
	@test -z "$$($$(go env GOROOT)/bin/gofmt -l .)" || { $$(go env GOROOT)/bin/gofmt -l .; echo "run gofmt -w on these files"; exit 1; }
	go vet ./...

bench: ## the speed that a user sees, with rivals in the same run (under 5 minutes)
	go run ./bench

bench-all: ## every benchmark, resumable (under 40 minutes)
	go run ./bench -all

ci: ## what continuous integration runs
	.ci/run

clean:
	rm -rf bin bench-out .cutwater
