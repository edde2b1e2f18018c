// Command schemas runs the JSON-Schema-Test-Suite through package constrain: for each supported
// schema, every valid instance must be accepted in canonical text, no invalid one may be, and the
// texts of random walks over GPT-2's vocabulary must be valid. It prints the times of masks and of
// compiling, and the memory of each schema.
//
//	cd x/bench/schemas && go run .
//
// With -everyday it runs schemas as zod, OpenAI's helper, typebox and pydantic emit them, which
// everyday/emit.mjs and everyday/emit.py write; everyday/judge.cjs has ajv judge what was written.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
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
	walks := flag.Int("walks", 10, "texts to write for each schema")
	verbose := flag.Bool("v", false, "list the schemas that are refused")
	everyday := flag.String("everyday", "", "run the schemas of this file, from everyday/, instead")
	written := flag.String("written", "written.jsonl", "with -everyday: the file for what is written")
	flag.Parse()
	runtime.LockOSThread() // for processorTime
	r := &run{walks: *walks, verbose: *verbose, refused: map[string]int{}}
	work := r.suite
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
	verbose bool
	vocab   *constrain.Vocabulary
	alone   [256]int // the id of each byte

	schemas, accepted, rejected int
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
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

func (r *run) suite() error {
	if err := r.vocabulary(); err != nil {
		return err
	}
	out, err := exec.Command("go", "mod", "download", "-json", suiteModule).Output()
	if err != nil {
		return fmt.Errorf("%s: %w", suiteModule, err)
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(out, &module); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(module.Dir, suiteFolder, "*.json"))
	if err != nil || len(files) == 0 {
		return errors.Join(err, fmt.Errorf("no files in %s", module.Dir))
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		var groups []group
		if err := json.Unmarshal(b, &groups); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, g := range groups {
			r.group(filepath.Base(file), g)
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
	judge, err := judgeOf(g.Schema)
	if err != nil {
		r.refused["(the judge does not compile it)"]++
		return
	}
	before := heap()
	from := processorTime()
	c, err := constrain.JSONSchema(r.vocab, g.Schema, constrain.SchemaOptions{})
	if err != nil {
		r.refuse(file, g, err)
		return
	}
	r.compiles = append(r.compiles, processorTime()-from)
	for _, test := range g.Tests {
		text, err := canonical(g.Schema, test.Data)
		if err != nil {
			r.fail("%s: %s: %s: %v", file, g.Description, test.Description, err)
			continue
		}
		got := r.accepts(c, text)
		switch {
		case got && test.Valid:
			r.accepted++
		case !got && !test.Valid:
			r.rejected++
		default:
			r.fail("%s: %s: %s: %s: accepted %v, want %v", file, g.Description, test.Description,
				text, got, test.Valid)
		}
	}
	for i := range r.walks {
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
	fmt.Printf("%d schemas; %d followed; instances: %d valid accepted, %d invalid rejected\n",
		r.schemas, len(r.compiles), r.accepted, r.rejected)
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
