package main

// gpt version: which build this is.

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by the linker: see make dist. Other builds say what Go knows of them.
var version string

type versionCommand struct{}

func (versionCommand) Run(a *app) error { return printVersion(a) }

func printVersion(a *app) error {
	v := version
	if info, ok := debug.ReadBuildInfo(); v == "" && ok {
		v = info.Main.Version
	}
	if v == "" {
		v = "(devel)"
	}
	_, err := fmt.Fprintf(a.stdout, "gpt %s, %s %s/%s\n",
		v, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
