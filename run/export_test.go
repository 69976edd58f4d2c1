package run

import (
	"context"

	"github.com/cutwater-io/cutwater/connector"
	"github.com/cutwater-io/cutwater/internal/blob"
	"github.com/cutwater-io/cutwater/stream"
)

// RunOn is Run in a world of the test's own: its files, its clock, its store.
func RunOn(ctx context.Context, p *stream.Pipeline, cfg Config, env connector.Env, store blob.Store) error {
	prog, cfg, err := prepare(p, cfg)
	if err != nil {
		return err
	}
	return run(ctx, prog, cfg, env, store)
}
