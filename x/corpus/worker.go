package main

// What starts workers for a runner: corpus pool.

import (
	// The certificates of gs:// and s3://, where a machine has none: an image from scratch.
	_ "golang.org/x/crypto/x509roots/fallback"

	"picogpt/internal/cli"
	"picogpt/x/corpus/internal/worker"
)

// version is set by the linker: make corpus-image.
var version string

type poolCommand struct{ Address string }

func (c *poolCommand) line() *cli.Command {
	return &cli.Command{Name: "pool", Short: "start workers on this machine, for a runner elsewhere",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Address, "--address HOST:PORT [localhost:50000]",
				"where a runner asks for workers")
		}}
}

func (c *poolCommand) Run(a *app) error { return worker.Pool(a.ctx, c.Address, a.stderr) }
