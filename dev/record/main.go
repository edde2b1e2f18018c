//go:build unix

// Command record runs command lines and requests with two builds of gpt and tells where their
// answers differ: stdout, stderr, exit status and files; status, headers and body.
//
//	go run ./dev/record OLD NEW                  # every line and request, by two binaries
//	go run ./dev/record -run 'chat|serve' OLD NEW
//	go run ./dev/record -answers FILE NEW        # the marked ones, against recorded answers
//	go run ./dev/record -answers FILE -write NEW # records the answers anew
//
// The lines are in testdata/lines.txt, the requests in testdata/requests.txt; those that begin with
// an asterisk are the marked ones. Each line is run by sh in a folder of its own that has the files
// of testdata/files and the demo checkpoint as demo. Parts that differ between any two runs (times,
// speeds, names of folders) are replaced before answers are compared. The exit status is 1 if any
// differ. Run it in the root of the repository.
package main

import (
	"embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:embed testdata/lines.txt testdata/requests.txt testdata/files
var testdata embed.FS

func main() {
	if filepath.Base(os.Args[0]) == interruptName {
		os.Exit(interrupt(os.Args[1:]))
	}
	pattern := flag.String("run", "", "only lines and requests that match this `REGEXP`")
	answers := flag.String("answers", "", "compare NEW with the recorded answers of `FILE`")
	write := flag.Bool("write", false, "with -answers, write FILE anew")
	flag.Parse()
	same, err := run(*pattern, *answers, *write, flag.Args())
	if err != nil {
		fmt.Fprintf(os.Stderr, "record: %v\n", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// run makes the answers and compares them. It reports whether all are the same.
func run(pattern, answers string, write bool, binaries []string) (bool, error) {
	want := 2
	if answers != "" {
		want = 1
	}
	if len(binaries) != want {
		return false, fmt.Errorf("want %d binaries, found %d: see the comment of this command", want,
			len(binaries))
	}
	re, err := regexp.Compile(pattern)
	if err != nil {
		return false, err
	}
	items, err := read(re, answers != "")
	if err != nil {
		return false, err
	}
	newest, err := newRunner(binaries[len(binaries)-1])
	if err != nil {
		return false, err
	}
	defer newest.close()
	if answers == "" {
		oldest, err := newRunner(binaries[0])
		if err != nil {
			return false, err
		}
		defer oldest.close()
		return compare(os.Stdout, items, oldest.answers, newest.answers)
	}
	if write {
		got, err := newest.answers(items)
		if err != nil {
			return false, err
		}
		return true, writeAnswers(answers, got)
	}
	recorded, err := readAnswers(answers)
	if err != nil {
		return false, err
	}
	return compare(os.Stdout, items, recorded.answers, newest.answers)
}

// An item is one command line or one request.
type item struct {
	text   string
	server string // for a request: the arguments of gpt serve
}

func (i item) isRequest() bool { return i.server != "" }

// name returns the name of an item, which is unique: one request may go to several servers.
func (i item) name() string {
	if i.isRequest() {
		return i.server + ": " + i.text
	}
	return i.text
}

// read returns the lines and requests that match.
func read(re *regexp.Regexp, marked bool) ([]item, error) {
	var items []item
	seen := map[string]bool{}
	for _, file := range []string{"lines.txt", "requests.txt"} {
		text, err := testdata.ReadFile("testdata/" + file)
		if err != nil {
			return nil, err
		}
		server := ""
		for line := range strings.Lines(string(text)) {
			line = strings.TrimRight(line, "\n")
			rest, isMarked := strings.CutPrefix(line, "* ")
			arguments, isServer := strings.CutPrefix(line, "@ ")
			it := item{rest, server}
			switch {
			case line == "" || strings.HasPrefix(line, "#"):
			case isServer:
				server = arguments
			case seen[it.name()]:
				return nil, fmt.Errorf("%s: %s stands there twice", file, it.name())
			case (isMarked || !marked) && re.MatchString(it.name()):
				seen[it.name()] = true
				items = append(items, it)
			}
		}
	}
	if len(items) == 0 {
		return nil, errors.New("no line and no request matches")
	}
	return items, nil
}

// compare prints where two sets of answers differ, and reports whether none do.
func compare(w io.Writer, items []item, old, new func([]item) ([]answer, error)) (bool, error) {
	before, err := old(items)
	if err != nil {
		return false, err
	}
	after, err := new(items)
	if err != nil {
		return false, err
	}
	differ := 0
	for i := range items {
		if text := difference(before[i], after[i]); text != "" {
			differ++
			fmt.Fprintf(w, "%s\n%s\n", items[i].name(), text)
		}
	}
	fmt.Fprintf(w, "%d lines and requests, %d differ\n", len(items), differ)
	return differ == 0, nil
}
