package main

// The module gets an address, and others fetch it from there.

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

const (
	address = "example.com/Some-body/picogpt"
	release = "v0.3.0"
)

// renamed returns a copy of the project that has the address and a version, and a module proxy that
// has it.
func renamed(t *testing.T) (dir, proxy string) {
	t.Helper()
	p, err := open(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir, proxy = t.TempDir(), t.TempDir()
	for _, name := range p.files {
		b, err := p.read(name)
		if os.IsNotExist(err) { // git has it, and it was removed
			continue
		}
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err == nil {
			err = os.MkdirAll(filepath.Dir(to), 0o777)
		}
		if err == nil {
			err = os.WriteFile(to, b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := run(dir, []string{address, release}, proxy); err != nil {
		t.Fatal(err)
	}
	return dir, proxy
}

// golang runs the go command in a folder, where it finds this proxy and what is in the cache of
// modules, and no network, and returns what it prints.
func golang(t *testing.T, dir, proxy, cache string, args ...string) string {
	t.Helper()
	c := exec.Command("go", args...)
	c.Dir = dir
	c.Env = append(c.Environ(), "GOFLAGS=-modcacherw -trimpath", "GOSUMDB=off", "GOBIN="+cache, "GOWORK=off",
		"GONOPROXY=none", "GOTOOLCHAIN=local")
	if cache != "" {
		c.Env = append(c.Env, "GOMODCACHE="+cache,
			"GOPROXY="+fileURL(proxy)+","+fileURL(filepath.Join(modules(t), "cache", "download"))+",off")
	}
	out, err := c.Output()
	if err != nil {
		var told []byte
		if exit, ok := err.(*exec.ExitError); ok {
			told = exit.Stderr
		}
		t.Fatalf("go %s: %v\n%s%s", strings.Join(args, " "), err, out, told)
	}
	return string(out)
}

// modules returns the folder of the cache of modules.
func modules(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

func fileURL(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return "file://" + path
}

func TestTheModuleIsRenamed(t *testing.T) {
	cases.NotShort(t)
	dir, proxy := renamed(t)
	for dep := range strings.Lines(golang(t, dir, "", "", "list", "-deps", "-test", "./...")) {
		if strings.HasPrefix(dep, "picogpt") {
			t.Errorf("package %s has its old name", strings.TrimSpace(dep))
		}
	}
	p, err := open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if all := p.modules(); len(all) < 5 || all[0] != "." || !slices.Contains(all, "x/corpus") {
		t.Fatalf("modules %q", all)
	}
	for _, m := range p.modules() {
		b, err := p.read(m + "/go.mod")
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)
		if !strings.HasPrefix(text+"/", "module "+strings.TrimSuffix(address+"/"+m, "/.")) ||
			strings.Contains(text, " picogpt") || strings.Contains(text, "\tpicogpt") ||
			strings.Contains(text, "replace") || strings.Contains(text, "v0.0.0\n") {
			t.Errorf("%s/go.mod:\n%s", m, text)
		}
	}
	checkDocuments(t, p, address)
	checkSums(t, p, proxy)
	if err := p.rename(address + "-2"); err != nil { // it moves
		t.Fatal(err)
	}
	checkDocuments(t, p, address+"-2")
}

// checkDocuments wants an address where documents say how to fetch the module, and no other there.
func checkDocuments(t *testing.T, p *project, address string) {
	t.Helper()
	for name, want := range map[string][]string{
		"README.md": {"(https://pkg.go.dev/" + address + ")", "badge/" + address + ".svg",
			"go install " + address + "/cmd/gpt@latest"},
		"docs/embedding.md": {"\ngo get " + address + "@latest\n"},
	} {
		b, err := p.read(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range want {
			if !strings.Contains(string(b), want) {
				t.Errorf("%s: no %s", name, want)
			}
		}
		for _, old := range []string{"no address", "-replace", "../picogpt"} {
			if strings.Contains(string(b), old) {
				t.Errorf("%s says %q, but there is %s", name, old, address)
			}
		}
	}
}

// checkSums compares what the go command says of the module that it has downloaded from the proxy
// with the go.sum files of the nested modules.
func checkSums(t *testing.T, p *project, proxy string) {
	t.Helper()
	var of struct{ Sum, GoModSum, Error string }
	out := golang(t, t.TempDir(), proxy, t.TempDir(), "mod", "download", "-json", address+"@"+release)
	if err := json.Unmarshal([]byte(out), &of); err != nil || of.Error != "" {
		t.Fatal(err, of.Error)
	}
	for _, m := range []string{"x/corpus", "x/bench/serve", "x/bench/tokenizers"} {
		b, err := p.read(m + "/go.sum")
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{" " + of.Sum, "/go.mod " + of.GoModSum} {
			if line := address + " " + release + want + "\n"; !strings.Contains(string(b), line) {
				t.Errorf("%s/go.sum: no line %s", m, line)
			}
		}
	}
}

// TestOthersInstallIt installs the command and a nested one as who has no copy of the project does.
// With -tags long: no package of it is in the cache.
func TestOthersInstallIt(t *testing.T) {
	if !cases.Long {
		t.Skip("builds everything anew; TestTheModuleIsRenamed compares the sums of what is fetched")
	}
	dir, proxy := renamed(t)
	cache := t.TempDir()
	golang(t, t.TempDir(), proxy, cache, "install", address+"/x/bench/serve@"+release)
	golang(t, t.TempDir(), proxy, cache, "install", address+"/cmd/gpt@"+release)
	out, err := exec.Command(filepath.Join(cache, "gpt"), "version").Output()
	if err != nil || !strings.HasPrefix(string(out), "gpt "+release+", ") {
		t.Errorf("%q, %v", out, err)
	}
	golang(t, filepath.Join(dir, "x", "bench", "tokenizers"), proxy, cache, "build", "-o", os.DevNull, ".")
}

// A release is a commit beside the branch, which has the address before.
func TestTheCommandsOfARelease(t *testing.T) {
	const want = `Look at git diff, commit it beside the branch, and push the tags:

git switch --detach && git commit -am 'example.com/a v0.3.0'
git tag v0.3.0 && git push origin v0.3.0
git tag bench/serve/v0.3.0 && git push origin bench/serve/v0.3.0
git switch -
`
	modules := []string{".", "bench/serve"}
	if got := commands("example.com/a", "v0.3.0", modules, false); got != want {
		t.Errorf("%s", got)
	}
	const also = "make module PATH=example.com/a && git commit -am example.com/a # the address on the branch\n"
	if got := commands("example.com/a", "v0.3.0", modules, true); got != want+also {
		t.Errorf("%s", got)
	}
}

func TestWhatCannotBeAnAddress(t *testing.T) {
	for _, args := range [][]string{
		nil, {""}, {"/a"}, {"a/"}, {"a b"}, {"a", "v0.3.0"}, {"example.com/a", "0.3.0"},
		{"example.com/a", "v2.0.0"}, {"example.com/a", "v0.3.0", "x"},
	} {
		if err := run(t.TempDir(), args, ""); err == nil || !strings.Contains(err.Error(), "want") {
			t.Errorf("%q: %v, want an error that says what is wanted", args, err)
		}
	}
}
