package picogpt_test

// The house does not grow by itself: ARCHITECTURE.md has a number for what each room may be, and
// these tests compare it with what there is.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// A size is what a table says of a room, or what the room is.
type size struct{ lines, files, names, needs int }

func (s size) String() string {
	return fmt.Sprintf("%d | %d | %d | %d", s.lines, s.files, s.names, s.needs)
}

// table returns the rows of a table of ARCHITECTURE.md by their first cell, and in order.
func table(t *testing.T, head string) (names []string, rows map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, is := strings.Cut(string(text), "\n| "+head+" |")
	if !is {
		t.Fatalf("ARCHITECTURE.md has no table of %s", head)
	}
	rest, _, _ = strings.Cut(rest, "\n\n")
	rows = map[string][]string{}
	for row := range strings.Lines(rest) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(row), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " `")
		}
		if len(cells) > 1 && strings.HasPrefix(row, "| `") {
			names, rows[cells[0]] = append(names, cells[0]), cells[1:]
		}
	}
	return names, rows
}

// A sourceFile is a file of the main module that is counted.
type sourceFile struct {
	folder, name string
	text         []byte
}

// sources returns the files of the main module that git would keep, without tests and their data.
func sources(t *testing.T) (all []sourceFile) {
	t.Helper()
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			_, err := os.Stat(filepath.Join(file, "go.mod"))
			if file != "." && (err == nil || strings.HasPrefix(e.Name(), ".") || notOurs(e.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(file, "_test.go") || !counted.MatchString(file) {
			return nil
		}
		text, err := os.ReadFile(file)
		all = append(all, sourceFile{filepath.ToSlash(filepath.Dir(file)), e.Name(), text})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var counted = regexp.MustCompile(`\.(go|s|h|cl|js|css|html|txt)$`)

// roomOf returns the room of a folder: the longest name in the table that is the folder or above it.
func roomOf(names []string, folder string) string {
	for ; folder != "."; folder = path.Dir(folder) {
		if slices.Contains(names, folder) {
			return folder
		}
	}
	return "."
}

// goLines counts the lines of Go that hold a token. A line of more than 100 columns counts as often
// as 100 columns go into it, so that nothing is won by wide ones; a tab is 4 columns.
func goLines(text []byte) (n int) {
	fset := token.NewFileSet()
	file := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := bytes.Split(text, []byte("\n"))
	held := map[int]bool{}
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			break
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		first := file.Line(pos)
		for line := first; line <= first+strings.Count(lit, "\n"); line++ {
			held[line] = true
		}
	}
	for line := range held {
		b := bytes.ReplaceAll(lines[line-1], []byte("\t"), []byte("    "))
		n += max(1, (utf8.RuneCount(b)+99)/100)
	}
	return n
}

// exported counts the exported names at the top of a file.
func exported(t *testing.T, text []byte) (n int) {
	f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	if f.Name.Name == "main" {
		return 0
	}
	count := func(id *ast.Ident) {
		if id.IsExported() {
			n++
		}
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					for _, id := range s.Names {
						count(id)
					}
				}
			}
		}
	}
	return n
}

// imports returns which packages of the module each of its packages imports, without those of
// tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	module := modulePath(t)
	all := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if _, err := os.Stat(filepath.Join(file, "go.mod")); err == nil && file != "." ||
				strings.HasPrefix(e.Name(), ".") && file != "." || e.Name() == "testdata" {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := filepath.ToSlash(filepath.Dir(file))
		if all[from] == nil {
			all[from] = []string{}
		}
		for _, i := range parsed.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if name == module {
				name += "/."
			}
			if to, ours := strings.CutPrefix(name, module+"/"); ours {
				all[from] = append(all[from], to)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// needs returns the packages of ours that a package is built from, without itself.
func needs(all map[string][]string, of string) map[string]bool {
	met := map[string]bool{}
	var visit func(string)
	visit = func(p string) {
		for _, to := range all[p] {
			if !met[to] {
				met[to] = true
				visit(to)
			}
		}
	}
	visit(of)
	delete(met, of)
	return met
}

// variant is the end of a file's name that a build reads for one system or processor only.
var variant = regexp.MustCompile(`_(linux|darwin|windows|unix|other|amd64|arm64|purego|js)\.go$`)

// rooms measures the rooms of a table.
func rooms(t *testing.T, names []string) map[string]size {
	t.Helper()
	all, sizes := imports(t), map[string]size{}
	for _, f := range sources(t) {
		if !strings.HasSuffix(f.name, ".go") {
			continue
		}
		room := roomOf(names, f.folder)
		s := sizes[room]
		s.lines += goLines(f.text)
		if f.folder == room && !variant.MatchString(f.name) {
			s.files++
		}
		if !strings.Contains(f.folder+"/", "internal/") || strings.HasPrefix(room, "internal/") {
			s.names += exported(t, f.text)
		}
		sizes[room] = s
	}
	for room, s := range sizes {
		s.needs = len(needs(all, room))
		sizes[room] = s
	}
	return sizes
}

// mostLines is what the main module may have, without tests and dev/, to the end.
const mostLines = 104_000

func TestRoomsKeepTheirBudgets(t *testing.T) {
	names, rows := table(t, "room")
	shared, more := table(t, "shared package")
	names = append(names, shared...)
	maps.Copy(rows, more)
	sum := 0
	measured := rooms(t, names)
	for room, is := range measured {
		if room == "dev" {
			continue
		}
		sum += is.lines
		row := rows[room]
		if len(row) < 6 {
			t.Errorf("ARCHITECTURE.md: %s has no row with lines, files, names and needs: %v", room, is)
			continue
		}
		var may size
		for i, to := range []*int{&may.lines, &may.files, &may.names, &may.needs} {
			n, err := strconv.Atoi(strings.ReplaceAll(row[2+i], ",", ""))
			if err != nil {
				t.Errorf("%s: %q: want a number", room, row[2+i])
			}
			*to = n
		}
		over := is.lines > may.lines || is.files > may.files || is.names > may.names || is.needs > may.needs
		shrunk := 20*is.lines < 19*may.lines || is.files < may.files-may.files/20 ||
			is.names < may.names-may.names/20 || is.needs < may.needs
		switch {
		case over:
			t.Errorf("%s has outgrown %v: it is %v (lines | files | names | needs). Make it smaller, "+
				"or raise its numbers and lower another room's, or say in CHANGELOG why the sum rises",
				room, may, is)
		case shrunk:
			t.Errorf("%s is smaller than %v: write %v, so that it stays so", room, may, is)
		}
		if most := 25; is.files > most && room != "cmd/gpt" && room != "kernels" || is.files > 45 {
			t.Errorf("%s has %d files in its folder, want %d at most", room, is.files, most)
		}
	}
	for _, room := range names {
		if _, is := measured[room]; !is {
			t.Errorf("ARCHITECTURE.md has %s, where no Go is", room)
		}
	}
	if sum > mostLines {
		t.Errorf("the rooms have %d lines together, want %d at most", sum, mostLines)
	}
	checkSum(t, "the rooms", sum)
}

// checkSum compares a number with the one that ARCHITECTURE.md says under this name.
func checkSum(t *testing.T, name string, is int) {
	t.Helper()
	_, rows := table(t, "all of it")
	row := rows[name]
	if len(row) == 0 {
		t.Fatalf("ARCHITECTURE.md has no row %s: %d", name, is)
	}
	may, err := strconv.Atoi(strings.ReplaceAll(row[0], ",", ""))
	if err != nil || is > may || 20*is < 19*may {
		t.Errorf("%s: %d lines, and ARCHITECTURE.md says %s: write the number that it is, or less",
			name, is, row[0])
	}
}

func TestOtherSourcesKeepTheirBudgets(t *testing.T) {
	kinds := map[string]int{}
	for _, f := range sources(t) {
		kind, n := path.Ext(f.name), bytes.Count(f.text, []byte("\n"))
		switch {
		case strings.HasPrefix(f.folder, "dev"):
			kind = "dev/"
			if path.Ext(f.name) != ".go" {
				continue
			}
			n = goLines(f.text)
		case kind == ".go":
			if n > 600 {
				t.Errorf("%s/%s has %d lines, want 600 at most", f.folder, f.name, n)
			}
			continue
		case f.name == "requirements.txt": // a lock file
			continue
		case kind == ".h" && !strings.HasPrefix(f.folder, "model/gpu"):
			kind = ".s"
		case kind == ".h":
			kind = ".cl"
		}
		kinds[kind] += n
	}
	for kind, name := range map[string]string{".s": "assembly", ".cl": "source for GPUs",
		".js": "JavaScript", ".css": "CSS", ".html": "HTML", ".txt": "help and other texts",
		"dev/": "dev/"} {
		checkSum(t, name, kinds[kind])
	}
}

// importers returns which rooms import each internal package that lies below the root, tests and
// modules counted.
func importers(t *testing.T, names []string) map[string]map[string]bool {
	t.Helper()
	by := map[string]map[string]bool{}
	module := modulePath(t)
	err := filepath.WalkDir(".", func(file string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() && (e.Name() == "testdata" || e.Name() == ".git") {
			return errorsOr(err, fs.SkipDir)
		}
		if !strings.HasSuffix(file, ".go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		from := filepath.ToSlash(filepath.Dir(file))
		for _, i := range f.Imports {
			to, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/")
			if !ours || !strings.HasPrefix(to, "internal/") || strings.HasPrefix(to+"/", from+"/") {
				continue
			}
			if by[to] == nil {
				by[to] = map[string]bool{}
			}
			room := roomOf(names, from)
			if strings.HasPrefix(from, "x/") && room == "." {
				room = strings.Join(strings.Split(from, "/")[:2], "/")
			}
			by[to][room] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return by
}

func errorsOr(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// alone says why a package of under 150 lines with under three importers is a package. A reason that
// is not needed any more is a mistake too.
var alone = map[string]string{
	"internal/protobuf":     "what tokenizer and checkpoint read may stand in neither",
	"tokenizer/r50k":        "embedded data",
	"serve/page":            "embedded data",
	"model/gpu/drivers":     "a build tag decides what it imports",
	"model/gpu/internal/dl": "behind a build tag",
}

func TestPackagesStandWhereTheyAreUsed(t *testing.T) {
	names, _ := table(t, "room")
	shared, rows := table(t, "shared package")
	if len(shared) > 16 {
		t.Errorf("internal/ has %d packages, want 16 at most", len(shared))
	}
	all, lines, users := imports(t), map[string]int{}, map[string]int{}
	for _, f := range sources(t) {
		if strings.HasSuffix(f.name, ".go") {
			lines[f.folder] += goLines(f.text)
		}
	}
	for _, to := range all {
		for _, p := range slices.Compact(slices.Sorted(slices.Values(to))) {
			users[p]++
		}
	}
	folders := slices.DeleteFunc(slices.Collect(maps.Keys(lines)),
		func(p string) bool { return strings.HasPrefix(p, "dev/") })
	if len(folders) > 77 {
		t.Errorf("%d folders have Go, want 77 at most, without dev/", len(folders))
	}
	by := importers(t, append(names, shared...))
	for p := range by {
		if !slices.Contains(shared, p) {
			t.Errorf("%s is not in ARCHITECTURE.md's table of shared packages", p)
			continue
		}
		rooms := slices.Sorted(maps.Keys(by[p]))
		if len(rooms) < 2 {
			t.Errorf("%s is used by %v alone, want it below that", p, rooms)
			continue
		}
		want := strings.Join(rooms, ", ")
		if len(rooms) > 8 {
			want = fmt.Sprint(len(rooms))
		}
		if row := rows[p]; len(row) < 7 || row[6] != want {
			t.Errorf("%s: ARCHITECTURE.md's last cell is %q, want %s", p, row[len(row)-1], want)
		}
	}
	exempt := regexp.MustCompile(`^(dev|examples|x)/`)
	for p, n := range lines {
		small := n < 150 && users[p] > 0 && users[p] < 3 && !slices.Contains(names, p) &&
			!exempt.MatchString(p)
		switch {
		case small && alone[p] == "":
			t.Errorf("%s has %d lines and %d importers: join it to one of them", p, n, users[p])
		case !small && alone[p] != "":
			t.Errorf("%s has %d lines and %d importers: it needs no reason (%s)", p, n, users[p], alone[p])
		}
	}
	for p := range alone {
		if lines[p] == 0 {
			t.Errorf("%s has a reason, and no Go", p)
		}
	}
}

// The floor of a room is its place in the table, that of a shared package the one of its lowest
// importer. What only tests and releases need stands above all.
func TestNoImportRunsUp(t *testing.T) {
	names, _ := table(t, "room")
	shared, _ := table(t, "shared package")
	all := imports(t)
	names = append([]string{"dev"}, slices.DeleteFunc(names, func(n string) bool { return n == "dev" })...)
	place := func(p string) int { return slices.Index(names, roomOf(names, p)) }
	low := map[string]int{} // of a shared package: the lowest room that needs it
	for from := range all {
		if roomOf(shared, from) == "." {
			for p := range needs(all, from) {
				if at := place(from); roomOf(shared, p) != "." && at > low[p] {
					low[p] = at
				}
			}
		}
	}
	for from, imported := range all {
		own, isShared := place(from), roomOf(shared, from) != "."
		if isShared {
			own = low[from]
		}
		if own < 0 {
			t.Errorf("package %s is in no table of ARCHITECTURE.md", from)
			continue
		}
		for _, to := range imported {
			if roomOf(shared, to) != "." {
				continue
			}
			if place(to) < own {
				t.Errorf("%s imports %s, which stands above it in ARCHITECTURE.md", from, to)
			}
		}
	}
	for of, most := range map[string]int{"model": 12, "decode": 20, ".": 35} {
		if n := len(needs(all, of)) + 1; n > most {
			t.Errorf("%s is built from %d packages of ours, want %d at most: %v", of, n, most,
				slices.Sorted(maps.Keys(needs(all, of))))
		}
	}
	const grammar, schema = "constrain/internal/grammar", "constrain/internal/schema"
	for from, other := range map[string]string{grammar: schema, schema: grammar} {
		if all[from] == nil || slices.Contains(all[from], other) {
			t.Errorf("%s imports %q, want it there and without %s", from, all[from], other)
		}
	}
}

// listOfTypes is the list of types of a package comment.
var listOfTypes = regexp.MustCompile(`(?m)\border\b[^\n]*\n\n(?:(?:  |\t).*\n)+`)

// listedType is a line of a package comment that lists a type: its name comes first.
var listedType = regexp.MustCompile(`(?m)^(?:  - |\t)\[?([A-Za-z]\w*)\]?(?:[:,]| +\S| (?:is|are|makes|says|chooses)\b)`)

func TestEachPackageSaysWhatItIs(t *testing.T) {
	for folder := range imports(t) {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if name := f.Name.Name; f.Doc != nil && (name == "main" ||
				strings.HasPrefix(f.Doc.Text(), "Package "+name+" ")) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%s has %d package comments of its name, want one", folder, n)
		}
	}
}

func TestAPackageCommentIsAMap(t *testing.T) {
	names, _ := table(t, "room")
	for _, room := range names {
		if strings.HasPrefix(room, "examples") || strings.HasPrefix(room, "cmd/") || room == "dev" {
			continue
		}
		doc, tests := "", ""
		files, err := filepath.Glob(filepath.Join(room, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(name, "_test.go") {
				for _, d := range f.Decls {
					if d, ok := d.(*ast.FuncDecl); ok {
						tests += " " + d.Name.Name + " "
					}
				}
			} else if f.Doc != nil {
				doc += f.Doc.Text()
			}
		}
		types := listedType.FindAllStringSubmatch(listOfTypes.FindString(doc), -1)
		if len(types) == 0 || len(types) > 12 {
			t.Errorf("%s: the package comment lists %d types in the order to read them, want 1 to 12",
				room, len(types))
			continue
		}
		first := types[0][1]
		if !strings.Contains(tests, " Example"+first+" ") && !strings.Contains(tests, " Example"+first+"_") &&
			!strings.Contains(tests, " Example ") {
			t.Errorf("%s: %s is the first type to read, and has no Example", room, first)
		}
	}
}
