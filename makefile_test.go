package picogpt_test

// The Makefile has the targets that it lists, and those that CI and documents name; the tests that
// these name are there. Checkouts have the bytes that were committed.

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
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

// elsewhere says why CI does not run what a workflow runs.
var elsewhere = map[string]string{
	"make judges":  "part judges runs dev/judges/run, as it does",
	"make weights": "the hub's weights, 548 MB",
	"make publish": "writes to GitHub",
}

// TestWorkflowsRunWhatCIRuns: each line that a workflow runs is a target of make, or a script, that
// .ci/run runs too.
func TestWorkflowsRunWhatCIRuns(t *testing.T) {
	ci := ""
	for _, name := range []string{".ci/run", "x/release/check"} { // make release-check is the second
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		ci += string(b)
	}
	workflows, err := filepath.Glob(".github/workflows/*.yml")
	if err != nil {
		t.Fatal(err)
	}
	step := regexp.MustCompile(`(?m)^ *(?:- )?run: (?:\|\n((?: {10}.*\n)+)|(.*\n))`)
	seen, excused := 0, map[string]bool{}
	for _, name := range workflows {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range step.FindAllStringSubmatch(string(b), -1) {
			for line := range strings.Lines(m[1] + m[2]) {
				words := strings.Fields(line)
				if words[0] == "#" {
					continue
				}
				seen++
				command := words[0]
				if command == "make" {
					command += " " + words[1]
				}
				runs := regexp.MustCompile(`(?m)^\s*\(?(?:cd \S+ && )?` +
					strings.Replace(regexp.QuoteMeta(command), "make ", "make (?:-s )?", 1) + `(?:\s|$)`)
				info, err := os.Stat(words[0])
				switch {
				case elsewhere[command] != "":
					excused[command] = true
				case words[0] != "make" && (err != nil || info.Mode()&0o111 == 0):
					t.Errorf("%s: %q, want a target of make or a script of the project", name, line)
				case command != ".ci/run" && !runs.MatchString(ci):
					t.Errorf("%s: .ci/run does not run %q", name, command)
				}
			}
		}
		if strings.Count(string(b), "run: ") != len(step.FindAllString(string(b), -1)) {
			t.Errorf("%s: a run: in another form", name)
		}
	}
	if seen < 6 || len(excused) != len(elsewhere) {
		t.Errorf("%d lines, of which %v run elsewhere: want more, and no excuse without need", seen, excused)
	}
}

// TestNamedTestsAreThere: a part of CI that names tests runs none if they have other names now.
func TestNamedTestsAreThere(t *testing.T) {
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	var names []string
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := os.ReadFile(file)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			names = append(names, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for file, pattern := range map[string]string{
		"Makefile": `(?m)^(?:RACELESS|LENT) := (?:\$\(RACELESS\)\|)?(.*)$`,
		".ci/run":  `(?:-run|bytes\+?=) ?'\|?([^']+)'`,
	} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			for _, name := range regexp.MustCompile(`[|()]+`).Split(m[1], -1) {
				name, _, _ = strings.Cut(name, "/") // subtests
				of, err := regexp.Compile(name)
				if seen++; err != nil || !slices.ContainsFunc(names, of.MatchString) {
					t.Errorf("%s: no test %s (%v)", file, name, err)
				}
			}
		}
	}
	if seen < 50 {
		t.Errorf("%d tests are named, want more", seen)
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
