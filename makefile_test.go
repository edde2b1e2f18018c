package picogpt_test

// The Makefile has the targets that it lists, and those that CI and documents name. Checkouts have the
// bytes that were committed.

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTargetsAreThere(t *testing.T) {
	read := func(name string) string {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	makefile := read("Makefile")
	has := map[string]bool{}
	for _, rule := range regexp.MustCompile(`(?m)^([a-z][a-z-]*):`).FindAllStringSubmatch(makefile, -1) {
		has[rule[1]] = true
	}
	_, listed, _ := strings.Cut(makefile, "\n.PHONY:")
	listed, _, _ = strings.Cut(listed, "\n")
	wanted := map[string]string{}
	for _, target := range strings.Fields(listed) {
		wanted[target] = ".PHONY"
	}
	workflows, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil || len(workflows) == 0 {
		t.Fatal(workflows, err)
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	target := regexp.MustCompile("(?m)(?:^\\s*|run: |`)make ([a-z][a-z-]*)(?:[ `]|$)")
	for _, name := range append(append(workflows, documents...), ".ci/run", "README.md", "CONTRIBUTING.md", "SECURITY.md") {
		for _, m := range target.FindAllStringSubmatch(read(name), -1) {
			wanted[m[1]] = name
		}
	}
	for target, by := range wanted {
		if !has[target] {
			t.Errorf("Makefile: no target %s, which %s names", target, by)
		}
	}
	if len(wanted) < 20 {
		t.Errorf("%d targets are named, want more", len(wanted))
	}
}

// TestACheckoutHasItsBytes: git for Windows ends lines with CR LF unless .gitattributes forbids it,
// and digests, recorded outputs and the sums of the module are of the bytes.
func TestACheckoutHasItsBytes(t *testing.T) {
	b, err := os.ReadFile(".gitattributes")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for line := range strings.Lines(string(b)) {
		if !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	if got := strings.Join(lines, ""); got != "* -text\n" {
		t.Errorf(".gitattributes has %q, want * -text alone", got)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil || strings.Contains(string(readme), "\r") {
		t.Errorf("README.md has carriage returns (%v)", err)
	}
}
