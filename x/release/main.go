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
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
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

// A target is a binary of the release with its system, and its archive.
type target struct {
	os, arch string            // Go's
	name     string            // gpt-v0.1.0-linux-amd64
	exe      string            // ".exe" or ""
	archive  string            // path
	files    map[string][]byte // of the archive, by their names below its folder
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

// targets are the archives of the folder, with what is in them.
func (r *release) targets() (all []*target, err error) {
	prefix := "gpt-" + r.version + "-"
	archives, err := filepath.Glob(filepath.Join(r.dist, prefix+"*")) // sorted
	for _, archive := range archives {
		name, isTar := strings.CutSuffix(archive, ".tar.gz")
		name, isZip := strings.CutSuffix(name, ".zip")
		if !isTar && !isZip {
			continue
		}
		t := &target{archive: archive, name: filepath.Base(name)}
		t.os, t.arch, _ = strings.Cut(strings.TrimPrefix(t.name, prefix), "-")
		read := readTar
		if isZip {
			t.exe, read = ".exe", readZip
		}
		b, err := os.ReadFile(archive)
		if err == nil {
			t.files, err = read(b)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", archive, err)
		}
		all = append(all, t)
	}
	if err == nil && len(all) == 0 {
		err = fmt.Errorf("%s: no archives of %s, want those of make dist", r.dist, r.version)
	}
	return all, err
}

// gpt is the program.
func (t *target) gpt() []byte { return t.files["gpt"+t.exe] }

// below is a file's name without the folder of the archive.
func below(name string) string {
	_, name, _ = strings.Cut(name, "/")
	return name
}

func readTar(b []byte) (map[string][]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return files, nil
		}
		if err != nil {
			return nil, err
		}
		if files[below(h.Name)], err = io.ReadAll(t); err != nil {
			return nil, err
		}
	}
}

func readZip(b []byte) (map[string][]byte, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, f := range z.File {
		r, err := f.Open()
		if err == nil {
			files[below(f.Name)], err = io.ReadAll(r)
		}
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// A member is a file of an archive that is written.
type member struct {
	name  string
	mode  os.FileMode
	bytes []byte
}

// tarball is a tar of files.
func (r *release) tarball(files []member) ([]byte, error) {
	var b bytes.Buffer
	t := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.name, Mode: int64(f.mode.Perm()), Size: int64(len(f.bytes)),
			ModTime: r.time, Format: tar.FormatUSTAR}
		err := t.WriteHeader(h)
		if err == nil {
			_, err = t.Write(f.bytes)
		}
		if err != nil {
			return nil, err
		}
	}
	err := t.Close() // before the bytes are taken
	return b.Bytes(), err
}

func zipped(b []byte) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err == nil {
		_, err = z.Write(b)
	}
	if err == nil {
		err = z.Close()
	}
	return out.Bytes(), err
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
