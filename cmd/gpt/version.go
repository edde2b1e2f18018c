package main

// gpt version: which build this is, and what of it the bits of results depend on.

import (
	"cmp"
	_ "embed"
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

// licenses are those of the modules and of the data that a build for any system has: make licenses.
//
//go:embed LICENSES
var licenses string

type versionCommand struct{ JSON, Licenses bool }

func newVersion(a *app) *cli.Command {
	c := &versionCommand{}
	return &cli.Command{
		Name: "version", Group: "about", Short: "print the version, and what the build is made of",
		Flags: func(f *cli.Flags) {
			f.Add(&c.JSON, "--json", "print one JSON object")
			f.Add(&c.Licenses, "--licenses", "print the licences of all that the program is built from")
		},
		Run: func(*cli.Flags) error {
			switch {
			case c.Licenses && c.JSON:
				return usagef("--json and --licenses: want one of them")
			case c.Licenses:
				return a.printText(licenses)
			}
			return printVersion(a, c.JSON)
		},
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
	text := b.String() + "\n"
	if b.Libraries != nil {
		text += fmt.Sprintf("shared libraries: %s\n",
			cmp.Or(strings.Join(b.Libraries, ", "), "none"))
	}
	return a.print(asJSON, b, text)
}

// String is the line that gpt version, /version, the metric gpt_build_info and receipts have.
func (b build) String() string {
	made := ""
	if b.Commit != "" {
		made = fmt.Sprintf(", commit %.12s, %s", b.Commit, b.Date)
	}
	return fmt.Sprintf("gpt %s%s, %s %s/%s, kernels %s, arithmetic %d", b.Version, made, b.Go, b.OS,
		b.Arch, b.Kernels, b.Arithmetic)
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
	b.Version = cmp.Or(b.Version, strings.TrimPrefix(info.Main.Version, "(devel)"),
		fmt.Sprintf("%.12s", b.Commit), "unknown")
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
