package main

// gpt version: which build this is, and what of it the bits of results depend on.

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"picogpt/internal/cli"
	"picogpt/internal/engine"
	"picogpt/kernels"
)

// Set by the linker: see make dist. Other builds say what Go knows of them.
var (
	version string
	commit  string
	date    string // of the commit, as 2006-01-02
)

type versionCommand struct{ JSON bool }

func newVersion(a *app) *cli.Command {
	c := &versionCommand{}
	return &cli.Command{
		Name: "version", Group: "about", Short: "print the version, and what the build is made of",
		Flags: func(f *cli.Flags) { f.Add(&c.JSON, "--json", "print one JSON object") },
		Run:   func(*cli.Flags) error { return printVersion(a, c.JSON) },
	}
}

// A build is what gpt version --json prints.
type build struct {
	Version    string `json:"version"`
	Commit     string `json:"commit,omitempty"`
	Date       string `json:"date,omitempty"` // of the commit
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernels    string `json:"kernels"`
	Arithmetic int    `json:"arithmetic"`

	Libraries []string `json:"libraries"` // null where they are not known
}

func printVersion(a *app, asJSON bool) error {
	b := thisBuild()
	b.Libraries = libraries()
	text := fmt.Sprintf("gpt %s, %s %s/%s\n", b.Version, b.Go, b.OS, b.Arch)
	if b.Commit != "" {
		text += fmt.Sprintf("commit %s, %s\n", b.Commit, b.Date)
	}
	text += fmt.Sprintf("kernels %s, arithmetic %d\n", b.Kernels, b.Arithmetic)
	if b.Libraries != nil {
		text += fmt.Sprintf("shared libraries: %s\n",
			cmp.Or(strings.Join(b.Libraries, ", "), "none"))
	}
	return a.print(asJSON, b, text)
}

func thisBuild() build {
	b := build{
		Version: version, Commit: commit, Date: date, Go: runtime.Version(), OS: runtime.GOOS,
		Arch: runtime.GOARCH, Kernels: kernels.Variants()[0], Arithmetic: engine.Arithmetic,
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			if t, err := time.Parse(time.RFC3339, s.Value); err == nil {
				b.Date = cmp.Or(b.Date, t.UTC().Format(time.DateOnly))
			}
		}
	}
	b.Version = cmp.Or(b.Version, info.Main.Version, "(devel)")
	return b
}

// libraries are the shared libraries that the system has loaded for this program, and without which
// it does not start: libc, where Go found a C compiler. They are nil where no /proc/self/maps says
// what is in memory: macOS and Windows have libraries of their own, which are always there.
func libraries() []string {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil
	}
	names := []string{}
	for line := range strings.Lines(string(maps)) {
		name := path.Base(strings.TrimSpace(line))
		if strings.Contains(name, ".so") && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// versionName is what this build is called.
func versionName() string {
	if version != "" {
		return version
	}
	return thisBuild().Version
}
