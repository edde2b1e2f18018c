package picogpt_test

// The project's Markdown: its width, where its links lead, and the names in it.

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// A page is a Markdown file.
type markdownPage struct {
	path    string
	prose   []string // its lines; "" for those of blocks of code
	anchors map[string]bool
}

var (
	code       = regexp.MustCompile("`[^`]*`")
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	embedded   = regexp.MustCompile(`(?:src|href)="([^"]+)"`)
	identifier = regexp.MustCompile(`<a (?:id|name)="([^"]+)">`)
)

// notOurs reports whether a folder of that name has what programs make or install, or data of tests.
func notOurs(name string) bool {
	return slices.Contains([]string{"dist", "node_modules", "testdata", "venv", "work"}, name)
}

// markdown returns the project's pages by their paths.
func markdown(t *testing.T) map[string]*markdownPage {
	t.Helper()
	pages := map[string]*markdownPage{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == ".git" || notOurs(d.Name())):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		b, err := os.ReadFile(path)
		if err == nil {
			pages[path] = newPage(path, string(b))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(pages) < 15 {
		t.Fatalf("%d pages, want 15 or more", len(pages))
	}
	return pages
}

func newPage(path, text string) *markdownPage {
	p := &markdownPage{path: path, anchors: map[string]bool{}}
	inside, times := false, map[string]int{}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inside || strings.HasPrefix(line, "    ") && p.afterBlank() {
			inside = inside != fence
			p.prose = append(p.prose, "")
			continue
		}
		p.prose = append(p.prose, line)
		if title := strings.TrimLeft(line, "#"); title != line && strings.HasPrefix(title, " ") {
			a := anchor(title)
			if times[a]++; times[a] > 1 {
				a += "-" + strconv.Itoa(times[a]-1)
			}
			p.anchors[a] = true
		}
		for _, m := range identifier.FindAllStringSubmatch(line, -1) {
			p.anchors[m[1]] = true
		}
	}
	return p
}

// afterBlank reports whether an indented line would be code: it follows an empty line or code.
func (p *markdownPage) afterBlank() bool {
	return len(p.prose) == 0 || strings.TrimSpace(p.prose[len(p.prose)-1]) == ""
}

// anchor returns the name that GitHub gives a title: letters, digits, hyphens and underscores in
// lower case, with hyphens for spaces.
func anchor(title string) string {
	title = strings.ReplaceAll(title, "`", "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, strings.TrimSpace(title))
}

// TestProseIsNarrow: prose has at most 100 columns. Tables, code, and the addresses of links are
// not counted, nor is a line that is one word. The address that make module gives the module counts
// as its name.
func TestProseIsNarrow(t *testing.T) {
	address := modulePath(t)
	for path, p := range markdown(t) {
		for i, line := range p.prose {
			short := link.ReplaceAllString(line, "]()")
			short = strings.ReplaceAll(short, address, "picogpt")
			if n := utf8.RuneCountInString(short); n > 100 && !strings.HasPrefix(line, "|") &&
				strings.Contains(strings.TrimSpace(short), " ") {
				t.Errorf("%s:%d: %d columns, want 100 at most", path, i+1, n)
			}
		}
	}
}

// TestLinksLead: a link within the project names a file or a folder that is there, and an anchor
// that it has.
func TestLinksLead(t *testing.T) {
	pages, links := markdown(t), 0
	for path, p := range pages {
		for i, line := range p.prose {
			line = code.ReplaceAllString(line, "")
			found := append(link.FindAllStringSubmatch(line, -1),
				embedded.FindAllStringSubmatch(line, -1)...)
			for _, m := range found {
				to, err := url.Parse(m[1])
				if err != nil {
					t.Errorf("%s:%d: %v", path, i+1, err)
					continue
				}
				if to.Host != "" || to.Scheme != "" {
					continue
				}
				links++
				target := path
				if to.Path != "" {
					target = filepath.ToSlash(filepath.Join(filepath.Dir(path), to.Path))
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s:%d: %s leads nowhere", path, i+1, m[1])
				} else if to.Fragment != "" && !(pages[target] != nil &&
					pages[target].anchors[to.Fragment]) {
					t.Errorf("%s:%d: %s has no anchor #%s, but %s", path, i+1, target, to.Fragment,
						slices.Sorted(maps.Keys(anchorsOf(pages[target]))))
				}
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links, want 50 or more", links)
	}
}

func anchorsOf(p *markdownPage) map[string]bool {
	if p == nil {
		return nil
	}
	return p.anchors
}

// TestOldAnchorsLead: links to sections that the README once had lead to what is there of them.
func TestOldAnchorsLead(t *testing.T) {
	readme := markdown(t)["README.md"]
	for _, old := range []string{"the-command", "the-server", "the-playground", "real-weights",
		"what-runs", "a-gpu", "the-library", "perplexity-as-a-test", "numbers", "how-it-is-proved",
		"the-house", "what-it-does-not-do"} {
		if !readme.anchors[old] {
			t.Errorf("README.md has no anchor #%s", old)
		}
	}
}

// testFunctions returns the names of tests, examples, fuzz targets and benchmarks by their folders.
func testFunctions(t *testing.T) map[string][]string {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)\w*)\(`)
	names := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		b, err := os.ReadFile(path)
		for _, m := range function.FindAllSubmatch(b, -1) {
			folder := filepath.ToSlash(filepath.Dir(path))
			names[folder] = append(names[folder], string(m[1]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// TestNamesInMarkdownAreThere: tests, examples and files that pages name in code are there.
func TestNamesInMarkdownAreThere(t *testing.T) {
	names := map[string]bool{}
	for _, of := range testFunctions(t) {
		for _, name := range of {
			names[name] = true
		}
	}
	named := regexp.MustCompile("`((?:Test|Example|Fuzz)[A-Z_]\\w*)`")
	file := regexp.MustCompile("`([a-z][\\w.-]*/[\\w./-]+\\.(?:go|md|c|mjs|sh|txt|html))`")
	for path, p := range markdown(t) {
		if path == "CHANGELOG.md" {
			continue // it names what was
		}
		for i, line := range p.prose {
			for _, m := range named.FindAllStringSubmatch(line, -1) {
				if !names[m[1]] {
					t.Errorf("%s:%d: there is no %s", path, i+1, m[1])
				}
			}
			for _, m := range file.FindAllStringSubmatch(line, -1) {
				_, here := os.Stat(filepath.Join(filepath.Dir(path), m[1]))
				if _, err := os.Stat(m[1]); err != nil && here != nil {
					t.Errorf("%s:%d: there is no %s", path, i+1, m[1])
				}
			}
		}
	}
}

// TestClaimsHaveTheirCommands: a claim of SPEED.md has a command, a machine, a commit and a date; what
// was not measured says so.
func TestClaimsHaveTheirCommands(t *testing.T) {
	claims, machines := 0, map[string]bool{"any": true}
	machine := regexp.MustCompile(`^\| ([^|]+) \| [^|]+ \|$`)
	claim := regexp.MustCompile("^\\| .+ \\| (?:.*`.+`|the same) \\| ([^|]+) \\| [0-9a-f]{7} " +
		"\\| 20[0-9]{2}-[0-9]{2}-[0-9]{2} \\|$")
	section := ""
	for i, line := range markdown(t)["SPEED.md"].prose {
		if strings.HasPrefix(line, "#") {
			section = line
			continue
		}
		if m := machine.FindStringSubmatch(line); m != nil && !strings.HasPrefix(section, "##") {
			machines[m[1]] = true
		}
		if section != "## Claims" || !strings.HasPrefix(line, "| ") || strings.HasPrefix(line, "| claim") {
			continue
		}
		claims++
		m := claim.FindStringSubmatch(line)
		if m == nil && !strings.Contains(line, "not measured") {
			t.Errorf("SPEED.md:%d: want a command, a machine, a commit and a date", i+1)
		} else if m != nil && !machines[strings.TrimSuffix(m[1], ", busy")] {
			t.Errorf("SPEED.md:%d: machine %q, which the first table does not have", i+1, m[1])
		}
	}
	if claims < 15 {
		t.Errorf("%d claims, want 15 or more", claims)
	}
}

// TestBenchmarksInMarkdownAreThere: each alternative of a command's -bench is in a package that the
// command names.
func TestBenchmarksInMarkdownAreThere(t *testing.T) {
	command := regexp.MustCompile("go test ([^`]*-bench[^`]*)`")
	pattern := regexp.MustCompile(`-bench ('[^']*'|\S+)`)
	folder := regexp.MustCompile(`(?:^|\s)\./(\S+)`)
	functions, commands := testFunctions(t), 0
	for path, p := range markdown(t) {
		if path == "CHANGELOG.md" {
			continue // it names what was
		}
		for _, m := range command.FindAllStringSubmatch(strings.Join(p.prose, " "), -1) {
			commands++
			var names []string
			for _, f := range folder.FindAllStringSubmatch(m[1], -1) {
				for _, name := range functions[f[1]] {
					if rest, ok := strings.CutPrefix(name, "Benchmark"); ok {
						names = append(names, rest)
					}
				}
			}
			found := pattern.FindStringSubmatch(m[1])
			if found == nil {
				t.Errorf("%s: go test %s: -bench has no pattern", path, m[1])
				continue
			}
			wanted := strings.ReplaceAll(strings.Trim(found[1], "'"), `\|`, "|")
			for _, one := range strings.Split(wanted, "|") {
				matches, err := regexp.Compile(one)
				if err != nil || !slices.ContainsFunc(names, matches.MatchString) {
					t.Errorf("%s: go test %s: there is no benchmark %s (%v)", path, m[1], one, err)
				}
			}
		}
	}
	if commands < 15 {
		t.Errorf("%d commands, want 15 or more", commands)
	}
}
