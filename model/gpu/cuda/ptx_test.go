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

	"picogpt/dev/cases"
	"picogpt/dev/ptx"
)

var kernels, kernels80 = PTX(), PTX80()

// shipped returns the PTX that ships, by the names of the files.
func shipped() map[string]string {
	return map[string]string{"gpt2.ptx": kernels, "gpt2_sm80.ptx": kernels80}
}

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
	want := fmt.Sprintf("// model/gpu/kernels %x\n", sum.Sum(nil))
	for name, text := range shipped() {
		if got, _, _ := strings.Cut(text, "\n"); got+"\n" != want {
			t.Errorf("%s begins with %q, want %q: run make ptx", name, got, want)
		}
	}
}

// Its twin above runs everywhere. clang takes 16 s: .ci/run does this when the sources change.
func TestPTXIsWhatClangMakes(t *testing.T) {
	if !cases.Long {
		t.Skip("with -tags long only")
	}
	for _, tool := range []string{"clang-16", "make"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	made := t.TempDir()
	run := exec.Command("make", "-C", "../../..", "ptx", "PTX="+made)
	if out, err := run.CombinedOutput(); err != nil {
		t.Fatalf("make ptx: %v\n%s", err, out)
	}
	for name, want := range shipped() {
		packed, err := os.ReadFile(filepath.Join(made, name+".gz"))
		if err != nil {
			t.Fatal(err)
		}
		if unpacked(packed)() != want {
			t.Errorf("make ptx gives other PTX than %s: run it, and commit what it writes", name)
		}
	}
}

// But for the tiles of Q8 and Q4, both files have the same kernels, as text: tests of the first are
// tests of the second.
func TestOnlyTilesOfIntegersDiffer(t *testing.T) {
	split := func(text string) map[string]string {
		all := map[string]string{}
		for _, part := range strings.Split(text, ".visible .entry ")[1:] {
			name, body, _ := strings.Cut(part, "(")
			body, _, _ = strings.Cut(body, "\n}\n") // a comment of the next one may follow
			all[name] = body
		}
		return all
	}
	one, other := split(kernels), split(kernels80)
	if len(one) != len(other) || len(one) < 30 {
		t.Errorf("%d kernels and %d", len(one), len(other))
	}
	for name, body := range one {
		differ := body != other[name]
		if differ != strings.HasPrefix(name, "integers_many_") {
			t.Errorf("%s: whether they differ is %v", name, differ)
		}
		matrices := strings.Contains(other[name], "mma.sync")
		if matrices != differ || strings.Contains(body, "mma.sync") {
			t.Errorf("%s: mma is in the wrong file", name)
		}
	}
}

// The interpreter refuses what does not round to nearest, flushes subnormals or may be fused.
func TestPTXRoundsToNearest(t *testing.T) {
	source, err := os.ReadFile("../kernels/rows.cl")
	if err != nil {
		t.Fatal(err)
	}
	targets := map[string]string{"gpt2.ptx": "sm_70", "gpt2_sm80.ptx": "sm_80"}
	for name, text := range shipped() {
		p, err := ptx.Parse(text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if p.Target != targets[name] {
			t.Errorf("%s: target %s, want %s", name, p.Target, targets[name])
		}
		for _, m := range regexp.MustCompile(`(?m)^KERNEL void (\w+)`).FindAllSubmatch(source, -1) {
			if _, err := p.Params(string(m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
