package cuda

// The PTX that ships is what the kernels' source gives.

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/ptx"
)

// The kernels were not changed without `make ptx`.
func TestPTXIsOfTheseSources(t *testing.T) {
	sum := sha256.New()
	for _, pattern := range []string{"*.cl", "*.h"} {
		names, err := filepath.Glob("../kernels/" + pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, error %v", pattern, len(names), err)
		}
		slices.Sort(names)
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			sum.Write(text)
		}
	}
	want := fmt.Sprintf("// gpu/kernels %x\n", sum.Sum(nil))
	if got, _, _ := strings.Cut(kernels, "\n"); got+"\n" != want {
		t.Errorf("gpt2.ptx begins with %q, want %q: run make ptx", got, want)
	}
}

// Its twin above runs everywhere.
func TestPTXIsWhatClangMakes(t *testing.T) {
	for _, tool := range []string{"clang-16", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	made := filepath.Join(t.TempDir(), "gpt2.ptx")
	run := exec.Command("make", "-C", "../..", "ptx", "PTX="+made)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("make ptx: %v\n%s", err, out)
	}
	text, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	if string(text) != kernels {
		t.Error("make ptx gives other PTX than gpt2.ptx: run it, and commit what it writes")
	}
}

// The interpreter refuses what does not round to nearest, flushes subnormals or may be fused.
func TestPTXRoundsToNearest(t *testing.T) {
	p, err := ptx.Parse(kernels)
	if err != nil {
		t.Fatal(err)
	}
	if p.Target != "sm_70" {
		t.Errorf("target %s, want sm_70", p.Target)
	}
	source, err := os.ReadFile("../kernels/rows.cl")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?m)^KERNEL void (\w+)`).FindAllSubmatch(source, -1) {
		if _, err := p.Params(string(m[1])); err != nil {
			t.Error(err)
		}
	}
}
