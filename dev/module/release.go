package main

// A version of the module: its sums as go.sum has them, nested modules that require it, and a proxy.

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
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
