package main

// gpt version: which build this is.

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"picogpt/internal/cli"
)

// version is set by the linker: see make dist. Other builds say what Go knows of them.
var version string

func newVersion(a *app) *cli.Command {
	return &cli.Command{
		Name: "version", Group: "about", Short: "print the version",
		Run: func(*cli.Flags) error { return printVersion(a) },
	}
}

func printVersion(a *app) error {
	_, err := fmt.Fprintf(a.stdout, "gpt %s, %s %s/%s\n",
		versionName(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionName is what this build is called.
func versionName() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
