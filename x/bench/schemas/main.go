// Command schemas runs the JSON-Schema-Test-Suite through package constrain: for each supported
// schema, every valid instance must be accepted in canonical text, no invalid one may be, and the
// texts of random walks over GPT-2's vocabulary must be valid. It prints the times of masks and of
// compiling, and the memory of each schema.
//
//	cd x/bench/schemas && go run .
//
// With -suite it runs a folder of the suite, such as json/tests/draft7 in the source of PyPI's
// jsonschema, as its draft, and with -bench the data of MaskBench, from the repository
// guidance-ai/jsonschemabench. Properties may come in any order.
//
// With -everyday it runs schemas as zod, OpenAI's helper, typebox and pydantic emit them, which
// everyday/emit.mjs and everyday/emit.py write; everyday/judge.cjs has ajv judge what was written.
//
// With -budget each text must be complete within so many tokens, or the least number known.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"picogpt/constrain"
)

// The suite's files come with this module, in the folder below.
const (
	suiteModule = "github.com/google/jsonschema-go@v0.4.3"
	suiteFolder = "jsonschema/testdata/draft2020-12"
)

func main() {
	suite := flag.String("suite", "", "run the groups of this folder of the suite instead")
	bench := flag.String("bench", "", "run the files of this folder of MaskBench instead")
	every := flag.Int("every", 1, "with -bench: one file of so many")
	walks := flag.Int("walks", 10, "texts to write for each schema")
	budget := flag.Int("budget", 0, "write texts that must end within so many tokens, or the least number known")
	verbose := flag.Bool("v", false, "list the schemas that are refused")
	everyday := flag.String("everyday", "", "run the schemas of this file, from everyday/, instead")
	written := flag.String("written", "written.jsonl", "with -everyday: the file for what is written")
	flag.Parse()
	runtime.LockOSThread() // for processorTime
	r := &run{walks: *walks, budget: *budget, verbose: *verbose, refused: map[string]int{}}
	work := r.suite
	if *suite != "" {
		work = func() error { return r.folder(*suite) }
	}
	if *bench != "" {
		work = func() error { return r.bench(*bench, *every) }
	}
	if *everyday != "" {
		work = func() error { return r.everyday(*everyday, *written) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
	r.print()
	if r.wrong > 0 {
		os.Exit(1)
	}
}

// A run holds counts and times.
type run struct {
	walks   int
	budget  int // 0: none
	verbose bool
	vocab   *constrain.Vocabulary
	alone   [256]int // the id of each byte

	schemas, accepted, rejected int
	refs                        map[string][]byte
	shut                        int // valid instances that are not accepted
	passed                      int // schemas of which all instances are judged right
	finished, open, wrong       int
	refused                     map[string]int
	masks, compiles             []time.Duration // of the processor
	clock                       []time.Duration // of the masks, with the time of other programs
	memory                      []int
}

// A group is one schema of the suite and its instances.
type group struct {
	Description string
	Schema      json.RawMessage
	Tests       []test
}

type test struct {
	Description string
	Data        json.RawMessage
	Valid       bool
}

func (r *run) suite() error {
	out, err := exec.Command("go", "mod", "download", "-json", suiteModule).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", suiteModule, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	return r.folder(filepath.Join(module.Dir, suiteFolder))
}

// drafts are the $schema of the folders of the suite.
var drafts = map[string]string{
	"draft4":       "http://json-schema.org/draft-04/schema#",
	"draft6":       "http://json-schema.org/draft-06/schema#",
	"draft7":       "http://json-schema.org/draft-07/schema#",
	"draft2019-09": "https://json-schema.org/draft/2019-09/schema",
	"draft2020-12": "https://json-schema.org/draft/2020-12/schema",
}

// folder runs the groups of a folder of the suite.
func (r *run) folder(folder string) error {
	draft := drafts[filepath.Base(folder)]
	remotes := filepath.Join(folder, "..", "..", "remotes") // which the suite has at this address
	r.refs = map[string][]byte{}
	err := filepath.WalkDir(remotes, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil
		}
		name, _ := filepath.Rel(remotes, path)
		r.refs["http://localhost:1234/"+filepath.ToSlash(name)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		return err
	}
	return r.files(folder, 1, func(name string, b []byte) error {
		var groups []group
		err := json.Unmarshal(b, &groups)
		for _, g := range groups {
			rest, ok := bytes.CutPrefix(g.Schema, []byte("{"))
			if ok && draft != "" && !bytes.Contains(rest, []byte(`"$schema"`)) {
				g.Schema = fmt.Appendf(nil, `{"$schema":%q,%s`, draft, rest)
				g.Schema = bytes.Replace(g.Schema, []byte(",}"), []byte("}"), 1)
			}
			r.group(name, g)
		}
		return err
	})
}

// bench runs the files of a folder of MaskBench: each is a group.
func (r *run) bench(folder string, every int) error {
	return r.files(folder, every, func(name string, b []byte) error {
		var g group
		err := json.Unmarshal(b, &g)
		r.group(name, g)
		return err
	})
}

// files calls work with one file of JSON in so many of a folder.
func (r *run) files(folder string, every int, work func(name string, b []byte) error) error {
	if r.vocab == nil {
		if err := r.vocabulary(); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("no files in %s", folder))
	}
	for i, file := range files {
		if i%max(every, 1) != 0 {
			continue
		}
		b, err := os.ReadFile(file)
		if err == nil {
			err = work(filepath.Base(file), b)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

// fail reports an error of package constrain.
func (r *run) fail(format string, args ...any) {
	r.wrong++
	fmt.Printf("WRONG "+format+"\n", args...)
}

func (r *run) group(file string, g group) {
	r.schemas++
	judge, judgeErr := judgeOf(g.Schema)
	before := heap()
	from := processorTime()
	o := constrain.SchemaOptions{AnyOrder: true, Refs: r.refs}
	c, err := constrain.JSONSchema(r.vocab, g.Schema, o)
	if err != nil {
		r.refuse(file, g, err)
		return
	}
	r.compiles = append(r.compiles, processorTime()-from)
	right := true
	for _, test := range g.Tests {
		text, err := canonical(g.Schema, test.Data)
		if err != nil {
			r.fail("%s: %s: %s: %v", file, g.Description, test.Description, err)
			continue
		}
		got := r.accepts(c, text)
		right = right && got == test.Valid
		switch {
		case got && test.Valid:
			r.accepted++
		case !got && !test.Valid:
			r.rejected++
		case !got:
			r.shut++
		default:
			r.fail("%s: %s: %s: %s: accepted %v, want %v", file, g.Description, test.Description,
				text, got, test.Valid)
		}
	}
	if right {
		r.passed++
	}
	for i := range r.walks {
		if judgeErr != nil {
			r.refused["(walks: the judge does not compile it)"]++
			break
		}
		r.walk(c, judge, uint64(i), file+": "+g.Description)
	}
	r.memory = append(r.memory, heap()-before)
	runtime.KeepAlive(c)
}

// refuse counts a refused schema by its reason. A schema without valid instances is refused too.
func (r *run) refuse(file string, g group, err error) {
	why := err.Error()
	if r.verbose {
		fmt.Printf("refused %s: %s: %s\n", file, g.Description, why)
	}
	if strings.Contains(why, "no value is valid") {
		if !slices.ContainsFunc(g.Tests, func(t test) bool { return t.Valid }) {
			r.passed++
		}
		for _, test := range g.Tests {
			if test.Valid {
				r.fail("%s: %s: %s: %v", file, g.Description, test.Description, err)
			}
		}
	}
	if i := strings.Index(why, "keyword "); i >= 0 {
		why = why[i:]
	} else if strings.Contains(why, "oneOf") {
		why = "oneOf that is not exclusive"
	} else if strings.Contains(why, "$ref") || strings.Contains(why, "reference") {
		why = "$ref: " + why[strings.LastIndex(why, ":")+2:]
	}
	r.refused[why]++
}

// accepts feeds a text byte by byte.
func (r *run) accepts(c *constrain.Constraint, text string) bool {
	t, err := c.Start()
	if err != nil {
		return false
	}
	for i := range len(text) {
		if t.Accept(r.alone[text[i]]) != nil {
			return false
		}
	}
	return t.Complete()
}

func judgeOf(schema []byte) (*jsonschema.Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(schema)))
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", doc); err != nil {
		return nil, err
	}
	return c.Compile("schema.json")
}

func (r *run) print() {
	fmt.Printf("%d schemas; %d followed, %d right in all instances: %d valid accepted, %d not, "+
		"%d invalid rejected\n", r.schemas, len(r.compiles), r.passed, r.accepted, r.shut, r.rejected)
	fmt.Printf("texts written: %d complete and valid, %d not complete; wrong: %d\n", r.finished,
		r.open, r.wrong)
	var reasons []string
	for why := range r.refused {
		reasons = append(reasons, why)
	}
	slices.Sort(reasons)
	for _, why := range reasons {
		fmt.Printf("refused %4d %s\n", r.refused[why], why)
	}
	slices.Sort(r.masks)
	slices.Sort(r.clock)
	slices.Sort(r.compiles)
	slices.Sort(r.memory)
	fmt.Printf("masks: %d, p50 %v, p99 %v, worst %v\n", len(r.masks), at(r.masks, 0.5),
		at(r.masks, 0.99), at(r.masks, 1))
	fmt.Printf("by the clock: p50 %v, p99 %v, worst %v\n", at(r.clock, 0.5), at(r.clock, 0.99),
		at(r.clock, 1))
	fmt.Printf("compile: p50 %v, p99 %v, worst %v\n", at(r.compiles, 0.5), at(r.compiles, 0.99),
		at(r.compiles, 1))
	fmt.Printf("memory of a schema: p50 %d kB, worst %d kB\n", at(r.memory, 0.5)/1000,
		at(r.memory, 1)/1000)
}

// at returns a quantile of sorted values.
func at[T any](sorted []T, q float64) (v T) {
	if len(sorted) == 0 {
		return v
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}
