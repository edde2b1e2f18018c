// Command release makes what a release has beside the archives of make dist, from these alone: Debian
// and RPM packages, wheels, packages for npm, images, texts for Homebrew, Scoop and AUR, an SBOM and
// the notes. The Makefile runs it:
//
//	release -version v0.1.0 -time 1767225600 pack ../../dist   # all of it
//	release … wheel ../../dist                                 # or npm, alone
//	release licenses ../..    # writes cmd/gpt/LICENSES
//	release api ../..         # writes x/release/api.txt; apidiff compares with it
//
// The same archives and time give the same bytes.
package main

import (
	"flag"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

// A release is what its files are made of.
type release struct {
	version    string // v0.1.0
	address    string // github.com/you/picogpt
	maintainer string
	time       time.Time // of the commit
	root, dist string
}

func main() {
	r := release{}
	seconds := flag.Int64("time", 0, "the `SECONDS` since 1970 that every file has")
	flag.StringVar(&r.version, "version", "", "the version, as v0.1.0")
	flag.StringVar(&r.address, "address", "github.com/OWNER/picogpt", "where the releases are")
	flag.StringVar(&r.maintainer, "maintainer", "picogpt authors <authors@picogpt.invalid>",
		"who packages name")
	flag.Parse()
	r.time, r.root = time.Unix(*seconds, 0).UTC(), "../.."
	if err := r.run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

var versions = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.]+)?$`)

func (r *release) run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("want what to make and a folder, found %q", args)
	}
	what, dir := args[0], args[1]
	switch what {
	case "licenses":
		return writeLicenses(dir)
	case "api":
		return recordAPI(dir, r.version)
	case "apidiff":
		return compareAPI(dir)
	}
	r.dist = dir
	all, err := r.targets()
	if err != nil {
		return err
	}
	makers := map[string][]func([]*target) error{"wheel": {r.wheels}, "npm": {r.npm}}
	makers["pack"] = []func([]*target) error{
		r.notes, r.packages, r.wheels, r.npm, r.images, r.sbom, r.texts,
	}
	if makers[what] == nil {
		return fmt.Errorf("%q: want pack, wheel, npm, licenses, api or apidiff", what)
	}
	if what == "pack" && !versions.MatchString(r.version) {
		return fmt.Errorf("%q: want a version such as v0.1.0", r.version)
	}
	for _, write := range makers[what] {
		if err := write(all); err != nil {
			return err
		}
	}
	return nil
}

// write writes a file of the release, and says so.
func (r *release) write(name string, b []byte) error {
	name = filepath.Join(r.dist, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		return err
	}
	fmt.Println(strings.TrimPrefix(filepath.ToSlash(name), "../../"))
	return os.WriteFile(name, b, 0o666)
}

// notes are the section of CHANGELOG.md about the version.
func (r *release) notes([]*target) error {
	b, err := os.ReadFile(filepath.Join(r.root, "CHANGELOG.md"))
	if err != nil {
		return err
	}
	text, err := section(string(b), r.version)
	if err != nil {
		return err
	}
	return r.write("NOTES.md", []byte(text))
}

func section(changelog, version string) (string, error) {
	head := "\n## [" + strings.TrimPrefix(version, "v") + "]"
	_, text, found := strings.Cut(changelog, head)
	_, text, _ = strings.Cut(text, "\n") // its date
	text, _, _ = strings.Cut(text, "\n## ")
	if text = strings.TrimSpace(text); !found || text == "" {
		return "", fmt.Errorf("CHANGELOG.md: want a section %q with a text", strings.TrimSpace(head))
	}
	return text + "\n", nil
}

// base is the address of the release's files.
func (r *release) base() string {
	return "https://" + path.Join(r.address, "releases", "download", r.version)
}
