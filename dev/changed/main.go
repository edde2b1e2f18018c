// Command changed says which parts of .ci/run a change needs: what it touches, then what depends on
// that, the nearest first, until the time of a change is full. Part always is not among them.
//
//	go run ./dev/changed       one part a line: run or left, its name, its seconds, and why
//	go run ./dev/changed race  all packages that the race detector runs
//	go run ./dev/changed fuzz  all fuzz targets, as FOLDER:NAME
//
// A change is what differs from the base, committed or not. The base is where HEAD left $CI_BASE,
// or if that is empty origin/main, or if HEAD is there the commit before HEAD. Where there is no
// base, as in a shallow clone, everything counts as changed.
package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"log"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// Seconds: parts.txt says of which machine.
const (
	budget  = 12*60 - 400 // of a change, without part always
	fuzzing = 5           // of a target
)

//go:embed parts.txt
var table string

// A part is a row of parts.txt, or a fuzz target.
type part struct {
	name    string
	seconds int
	names   []string // packages and files; those with ! only if they changed themselves
	away    int      // imports, from what changed to the nearest name
	why     string   // empty if no name is above what changed
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("changed: ")
	all, err := readPackages(".")
	if err != nil {
		log.Fatal(err)
	}
	if len(os.Args) == 1 {
		base, files := changes(".", os.Getenv("CI_BASE"))
		fmt.Print(plan(all, base, files))
		return
	}
	for _, p := range readParts(all) {
		if what, ok := strings.CutPrefix(p.name, os.Args[1]+":"); ok {
			fmt.Println(what)
		}
	}
}

// changes returns the base, or "" if there is none, and the files that differ from it.
func changes(root, asked string) (base string, files []string) {
	git := func(args ...string) string {
		out, _ := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
		return strings.TrimSpace(string(out)) // nothing, if git fails
	}
	head := git("rev-parse", "HEAD")
	if asked != "" {
		base = git("merge-base", "HEAD", asked)
	} else if base = git("merge-base", "HEAD", "origin/main"); base == "" || base == head {
		base = git("rev-parse", "--quiet", "--verify", "HEAD~1")
	}
	if base == "" {
		return "", nil
	}
	names := git("diff", "--name-only", "--no-renames", "-z", base) + "\x00" +
		git("ls-files", "--others", "--exclude-standard", "-z", ":/")
	return base, strings.FieldsFunc(names, func(r rune) bool { return r == 0 })
}

// readParts returns the parts: those of parts.txt, then one for each fuzz target.
func readParts(all map[string]*pkg) (parts []part) {
	for row := range strings.Lines(table) {
		if f := strings.Fields(row); len(f) > 1 && f[0] != "#" {
			seconds, err := strconv.Atoi(f[1])
			if err != nil {
				log.Fatalf("parts.txt: %s: %v", f[0], err)
			}
			parts = append(parts, part{name: f[0], seconds: seconds, names: f[2:]})
		}
	}
	for _, tests := range slices.Sorted(maps.Keys(all)) {
		for _, target := range all[tests].fuzz {
			dir := strings.TrimSuffix(tests, "_test")
			name := "fuzz:" + dir + ":" + target
			parts = append(parts, part{name: name, seconds: fuzzing, names: []string{dir}})
		}
	}
	return parts
}

// plan returns the lines for a change of files, or for one of everything if there is no base.
func plan(all map[string]*pkg, base string, files []string) string {
	away, parts := distances(all, files), readParts(all)
	for i := range parts {
		p := &parts[i]
		if base == "" {
			p.why = "no base is known"
		}
		for _, name := range slices.Sorted(maps.Keys(away)) {
			if d := away[name]; p.named(name, d) && (p.why == "" || d < p.away) {
				p.away, p.why = d, fmt.Sprintf("%s: %d imports from what changed", name, d)
			}
		}
	}
	slices.SortStableFunc(parts, func(a, b part) int { return cmp.Compare(a.away, b.away) })
	text, left := "", budget
	for _, p := range parts {
		verdict := "left"
		if p.why == "" {
			continue
		} else if p.seconds <= left {
			verdict, left = "run", left-p.seconds
		}
		text += fmt.Sprintln(verdict, p.name, p.seconds, p.why)
	}
	return text
}

// named says whether the part is one of a file, a package or its tests that are so far away.
func (p part) named(name string, away int) bool {
	name = strings.TrimSuffix(name, "_test")
	return slices.ContainsFunc(p.names, func(own string) bool {
		own, touched := strings.CutPrefix(own, "!")
		folder, all := strings.CutSuffix(own, "/...")
		return (away == 0 || !touched) &&
			(name == folder || all && strings.HasPrefix(name, folder+"/"))
	})
}
