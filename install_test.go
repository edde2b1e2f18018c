package picogpt_test

// README's line for installing, as it stands there, makes a program that needs nothing else.

import (
	"debug/elf"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
)

// installs finds README's line. A release has the module's address in it, and is not fetched here.
var installs = regexp.MustCompile(`(?m)^((?:\w+=\w+ )*go install )\S*/cmd/gpt(?:@\S+)?`)

// TestREADMEsLineMakesAStaticProgram runs the line where cgo is on, as it is where a C compiler is: a
// line that leaves it on links libc, or without a compiler fails. Where there is no sh, the sources
// say as much: TestTheProgramNeedsNoCgo of cmd/gpt.
func TestREADMEsLineMakesAStaticProgram(t *testing.T) {
	cases.NotShort(t)
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh to run README's line with")
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	lines := installs.FindAllSubmatch(readme, -1)
	if len(lines) != 1 {
		t.Fatalf("README.md: %d lines install gpt, want one", len(lines))
	}
	modules, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	gopath := t.TempDir() // GOBIN is refused for another system
	c := exec.Command(sh, "-c", string(lines[0][1])+"./cmd/gpt")
	c.Env = append(c.Environ(), "CGO_ENABLED=1", "GOOS=linux", "GOBIN=", "GOPATH="+gopath,
		"GOMODCACHE="+strings.TrimSpace(string(modules)))
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
	var program string
	err = filepath.WalkDir(gopath, func(path string, e os.DirEntry, err error) error {
		if err == nil && e.Name() == "gpt" {
			program = path
		}
		return err
	})
	if err != nil || program == "" {
		t.Fatalf("%s makes no gpt, error %v", c, err)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		t.Error("the program asks for a loader")
	}
	if needed, err := f.DynString(elf.DT_NEEDED); len(needed) > 0 || err != nil {
		t.Errorf("the program asks for %v, error %v", needed, err)
	}
	if runtime.GOOS != "linux" {
		return
	}
	out, err := exec.Command(program, "version", "--json").Output()
	var says struct{ Libraries []string }
	if err == nil {
		err = json.Unmarshal(out, &says)
	}
	if err != nil || says.Libraries == nil || len(says.Libraries) > 0 {
		t.Errorf("gpt version --json: %s, error %v, want no libraries", out, err)
	}
}
