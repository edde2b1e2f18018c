package main

// A version of the module: its sums as go.sum has them, nested modules that require it, and a proxy.

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// require makes the nested modules require the root by its version.
func (p *project) require(version string) error {
	sums, err := p.sums(version)
	if err != nil {
		return err
	}
	path := regexp.QuoteMeta(p.path)
	required := regexp.MustCompile(`(?m)^((?:require |\t)` + path + `) v\S+`)
	replaced := regexp.MustCompile(`(?m)\n*^replace ` + path + ` => \.\.\S*$`)
	for _, dir := range p.modules() {
		requires := false
		err := p.change(dir+"/go.mod", func(b []byte) []byte {
			requires = required.Match(b)
			return replaced.ReplaceAll(required.ReplaceAll(b, []byte("$1 "+version)), nil)
		})
		if err == nil && requires {
			err = p.addSums(dir+"/go.sum", sums)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addSums adds lines to a go.sum, which may be absent.
func (p *project) addSums(name string, sums []string) error {
	b, err := p.read(name)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(b)), "\n"), func(l string) bool {
		return l == "" || strings.HasPrefix(l, p.path+" ")
	})
	lines = append(lines, sums...)
	slices.Sort(lines)
	if !slices.Contains(p.files, name) {
		p.files = append(p.files, name)
	}
	return os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)),
		[]byte(strings.Join(lines, "\n")+"\n"), 0o666)
}

// sums returns the lines of go.sum of the root: of its files, and of its go.mod alone.
func (p *project) sums(version string) ([]string, error) {
	all := map[string][]byte{}
	for _, name := range p.filesOf(".") {
		b, err := p.read(name)
		if err != nil {
			return nil, err
		}
		all[p.path+"@"+version+"/"+name] = b
	}
	mod := map[string][]byte{"go.mod": all[p.path+"@"+version+"/go.mod"]}
	return []string{
		p.path + " " + version + " " + hash1(all),
		p.path + " " + version + "/go.mod " + hash1(mod),
	}, nil
}

// hash1 is the sum that go.sum calls h1 (golang.org/x/mod/sumdb/dirhash, Hash1).
func hash1(files map[string][]byte) string {
	var names []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	h := sha256.New()
	for _, name := range names {
		fmt.Fprintf(h, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return "h1:" + base64.StdEncoding.EncodeToString(h.Sum(nil))
}

// filesOf returns the files of the module in a folder, without those of modules nested in it, by
// their paths from the root of the project.
func (p *project) filesOf(dir string) (names []string) {
	nested := map[string]bool{}
	for _, name := range p.files {
		if path.Base(name) == "go.mod" {
			nested[path.Dir(name)] = true
		}
	}
	for _, name := range p.files {
		owner := path.Dir(name)
		for !nested[owner] && owner != "." {
			owner = path.Dir(owner)
		}
		if owner == dir {
			names = append(names, name)
		}
	}
	return names
}

// writeProxy writes what a module proxy answers (go help goproxy) about each module.
func (p *project) writeProxy(to, version string) error {
	for _, dir := range p.modules() {
		name := path.Join(p.path, dir)
		mod, err := p.read(path.Join(dir, "go.mod"))
		if err != nil {
			return err
		}
		archive, err := p.archive(dir, name+"@"+version)
		if err != nil {
			return err
		}
		for file, b := range map[string][]byte{
			"list": []byte(version + "\n"), version + ".mod": mod, version + ".zip": archive,
			version + ".info": fmt.Appendf(nil, `{"Version":%q}`, version),
		} {
			file = filepath.Join(to, filepath.FromSlash(escaped(name)), "@v", file)
			if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
				return err
			}
			if err := os.WriteFile(file, b, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// escaped is a module's path as files of proxies have it: capital letters become ! and small ones.
func escaped(path string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(s string) string {
		return "!" + strings.ToLower(s)
	})
}

// archive is the zip of the module in a folder. Each has the licence of the root.
func (p *project) archive(dir, prefix string) ([]byte, error) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	names := p.filesOf(dir)
	if dir != "." {
		names = append(names, "LICENSE")
	}
	for _, name := range names {
		text, err := p.read(name)
		if err != nil {
			return nil, err
		}
		w, err := z.CreateHeader(&zip.FileHeader{Method: zip.Store,
			Name: prefix + "/" + strings.TrimPrefix(name, dir+"/")})
		if err != nil {
			return nil, err
		}
		if _, err := w.Write(text); err != nil {
			return nil, err
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// The files of the project, and the path of the module in them.

// A project is the files of a module and of those nested in it.
type project struct {
	root  string
	path  string   // of the module
	files []string // with slashes, in order
}

// open lists the files that git has, or all where there is no git.
func open(root string) (*project, error) {
	p := &project{root: root}
	b, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		return nil, err
	}
	found := regexp.MustCompile(`(?m)^module (\S+)$`).FindSubmatch(b)
	if found == nil {
		return nil, fmt.Errorf("go.mod: want a line module PATH, found none")
	}
	p.path = string(found[1])
	if _, err := os.Stat(filepath.Join(root, ".git")); err == nil {
		list := exec.Command("git", "ls-files", "-z")
		list.Dir = root
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("git ls-files: %w", err)
		}
		p.files = strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
	} else {
		err := fs.WalkDir(os.DirFS(root), ".", func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				p.files = append(p.files, name)
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	slices.Sort(p.files)
	return p, nil
}

// modules returns the folders of the modules that others may fetch, "." first.
func (p *project) modules() (dirs []string) {
	for _, name := range p.files {
		if path.Base(name) == "go.mod" && !strings.Contains("/"+name, "/internal/") {
			dirs = append(dirs, path.Dir(name))
		}
	}
	slices.SortFunc(dirs, func(a, b string) int {
		return strings.Compare(strings.TrimPrefix(a, "."), strings.TrimPrefix(b, "."))
	})
	return dirs
}

func (p *project) read(name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(p.root, filepath.FromSlash(name)))
}

// change rewrites a file, and keeps its mode.
func (p *project) change(name string, f func(text []byte) []byte) error {
	b, err := p.read(name)
	if err != nil {
		return err
	}
	if changed := f(bytes.Clone(b)); !bytes.Equal(b, changed) {
		return os.WriteFile(filepath.Join(p.root, filepath.FromSlash(name)), changed, 0o666)
	}
	return nil
}

// rename gives the module another path, in every file that names it.
func (p *project) rename(to string) error {
	old := regexp.QuoteMeta(p.path)
	// An import is a line of its own, perhaps with a name before the path.
	imports := regexp.MustCompile(`(?m)^((?:import )?\s*(?:[A-Za-z_.]\w* )?")` + old + `(["/].*)$`)
	links := regexp.MustCompile(`\[` + old + `(/[a-z]|\])`) // of doc comments
	modules := regexp.MustCompile(`(?m)(^module |^(?:require|replace) |^\t)` + old + `([\s/]|$)`)
	documents := regexp.MustCompile("([\"` ])" + old + `(/[a-z])`)
	for _, name := range p.files {
		var err error
		switch {
		case strings.HasSuffix(name, ".go"):
			err = p.change(name, func(b []byte) []byte {
				return links.ReplaceAll(imports.ReplaceAll(b, []byte("${1}"+to+"$2")), []byte("["+to+"$1"))
			})
		case path.Base(name) == "go.mod":
			err = p.change(name, func(b []byte) []byte {
				return modules.ReplaceAll(b, []byte("${1}"+to+"$2"))
			})
		case strings.HasSuffix(name, ".md"):
			err = p.change(name, func(b []byte) []byte {
				if strings.Contains(p.path, ".") { // an address, which is nothing else's name
					b = bytes.ReplaceAll(b, []byte(p.path), []byte(to))
				} else {
					b = documents.ReplaceAll(b, []byte("${1}"+to+"$2"))
					b = bytes.ReplaceAll(b, []byte(`"`+p.path+`"`), []byte(`"`+to+`"`))
				}
				switch host, _, _ := strings.Cut(to, "/"); {
				case !strings.Contains(host, "."):
				case name == "README.md":
					return withAddress(b, to)
				case name == "docs/embedding.md":
					return withoutCheckout.ReplaceAll(b, []byte("Another module gets the newest "+
						"release:\n\n```\ngo get "+to+"@latest\n```\n"))
				}
				return b
			})
		}
		if err != nil {
			return err
		}
	}
	p.path = to
	return nil
}

// withoutCheckout is what docs/embedding.md says of a module without an address.
var withoutCheckout = regexp.MustCompile("(?s)The module is called `[^`]*` and has no address.*?" +
	"renames it\\s+everywhere\\.\n")

// withAddress gives the README badges below its title, and the command that installs from anywhere.
func withAddress(readme []byte, to string) []byte {
	host, rest, _ := strings.Cut(to, "/")
	if bytes.Contains(readme, []byte("pkg.go.dev/badge")) {
		return readme
	}
	badges := fmt.Sprintf("[![Go Reference](https://pkg.go.dev/badge/%s.svg)](https://pkg.go.dev/%[1]s)", to)
	if host == "github.com" && strings.Count(rest, "/") == 1 {
		badges += fmt.Sprintf("\n[![ci](https://%s/actions/workflows/ci.yml/badge.svg)]"+
			"(https://%[1]s/actions/workflows/ci.yml)", to)
	}
	title, text, _ := bytes.Cut(readme, []byte("\n"))
	readme = slices.Concat(title, []byte("\n\n"+badges+"\n"), text)
	install := regexp.MustCompile(`(?m)^(CGO_ENABLED=0 go install) \./cmd/gpt`)
	return install.ReplaceAll(readme, []byte("$1 "+to+"/cmd/gpt@latest"))
}
