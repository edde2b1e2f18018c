package main

// What a user sees: testdata/script, one file a subject. The commands that the scripts have besides
// testscript's are below.

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/weights"
)

func TestMain(m *testing.M) {
	if os.Args[0] == workerName {
		work()
	}
	testscript.Main(m, map[string]func(){"gpt": main, "curl": curl})
}

func TestScripts(t *testing.T) { testscript.Run(t, scripts("testdata/script")) }

// scripts are those of a folder.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Files: scriptFiles(dir),
		Setup: func(e *testscript.Env) error {
			e.Setenv("GPT_KERNEL", os.Getenv("GPT_KERNEL"))
			e.Setenv("GOGC", "off") // each process ends soon
			e.Values[hubKey{}] = new(*fakehub.Hub)
			err := foreignFiles(e)
			names, e2 := variables(dir, e.Vars)
			gpt := &scriptGPT{names: names}
			e.Values[scriptGPTKey{}] = gpt
			e.Defer(gpt.worker.close)
			return errors.Join(err, e2)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"runs":          runs,
			"input":         input,
			"exits":         exits,
			"refused":       refused,
			"checkpoint":    makeCheckpoint,
			"induction":     induction,
			"bytetokenizer": byteTokenizer,
			"truncate":      truncate,
			"replace":       replace,
			"pack":          pack,
			"hub":           hubCommand,
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "gpu": // a program with drivers of GPUs
				return hasDrivers, nil
			case "long":
				return cases.Long, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		RequireExplicitExec: true,
	}
}

// scriptFiles are all of a folder, or one of each kind: what writes texts, reads them, makes files of
// weights, serves, and what is refused.
func scriptFiles(dir string) []string {
	files, _ := filepath.Glob(filepath.Join(dir, "*.txtar"))
	return slices.DeleteFunc(files, func(file string) bool {
		return cases.Short() && !slices.Contains([]string{"generate.txtar", "score_forms.txtar",
			"quantize_safe.txtar", "serve.txtar", "typos.txtar"}, filepath.Base(file))
	})
}

// foreignFiles names folders of files that other packages' tests have.
func foreignFiles(e *testscript.Env) error {
	for name, dir := range map[string]string{
		"CHECKPOINTS": "../../checkpoint/testdata", "TEXTZIP": "../../x/textzip/testdata",
		"SAE": "../../dev/fixture/testdata/dictionary",
	} {
		dir, err := filepath.Abs(dir)
		if err != nil {
			return err
		}
		e.Setenv(name, dir)
	}
	return nil
}

// runs gpt ARG... runs gpt, which must end with status 0, or with another one after "!".
func runs(ts *testscript.TestScript, neg bool, args []string) {
	ended(ts, neg, "0", args)
}

// exits STATUS gpt ARG... runs gpt, which must end with that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	ended(ts, neg, args[0], args[1:])
}

// refused STATUS gpt ARG... runs gpt, which must end with that status, print nothing on stdout, and
// on stderr one line that says why and at most one hint.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	stdout, stderr := ended(ts, neg, args[0], args[1:])
	if stdout != "" {
		ts.Fatalf("stdout: %q, want nothing", stdout)
	}
	lines := strings.SplitAfter(stderr, "\n")
	why, hint := lines[0], strings.Join(lines[1:], "")
	if !strings.HasPrefix(why, "gpt: ") || strings.HasPrefix(why, "gpt: hint: ") ||
		!strings.HasSuffix(why, "\n") {
		ts.Fatalf("stderr: want a line that says why")
	}
	if hint != "" && (!strings.HasPrefix(hint, "gpt: hint: ") || strings.Count(hint, "\n") != 1) {
		ts.Fatalf("stderr: want at most one hint after the first line")
	}
}

// ended runs gpt or another program, which must end with a status.
func ended(
	ts *testscript.TestScript, neg bool, status string, args []string,
) (stdout, stderr string) {
	want, err := strconv.Atoi(status)
	ts.Check(err)
	got := 0
	if args[0] == "gpt" {
		r, err := ts.Value(scriptGPTKey{}).(*scriptGPT).run(ts, args[1:])
		ts.Check(err)
		stdout, stderr, got = string(r.Stdout), string(r.Stderr), r.Status
		io.WriteString(ts.Stdout(), stdout)
		io.WriteString(ts.Stderr(), stderr)
	} else {
		err := ts.Exec(args[0], args[1:]...)
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			got, err = exit.ExitCode(), nil
		}
		ts.Check(err)
		stdout, stderr = ts.ReadFile("stdout"), ts.ReadFile("stderr")
	}
	if (got == want) == neg {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
	return stdout, stderr
}

type scriptGPTKey struct{}

// A scriptGPT is gpt in a script.
type scriptGPT struct {
	worker worker
	names  []string // of variables of the environment
	stdin  string   // of the next run
}

func (g *scriptGPT) run(ts *testscript.TestScript, args []string) (result, error) {
	j := job{Args: args, Dir: ts.MkAbs("."), Stdin: []byte(g.stdin)}
	g.stdin = ""
	for _, name := range g.names {
		if value := ts.Getenv(name); value != "" {
			j.Env = append(j.Env, name+"="+value)
		}
	}
	j.Env = append(j.Env, "PWD="+j.Dir)
	return g.worker.do(j)
}

// input FILE gives the next run of gpt a stdin; stdin FILE that of exec.
func input(ts *testscript.TestScript, neg bool, args []string) {
	ts.Value(scriptGPTKey{}).(*scriptGPT).stdin = ts.ReadFile(args[0])
}

// variables returns the names of the variables that an environment and the scripts of a folder
// have, and an error if one of those gives gpt a stdin that it does not get.
func variables(dir string, environment []string) ([]string, error) {
	names := map[string]bool{"HF_HOME": true, "HF_ENDPOINT": true} // of the command hub
	for _, variable := range environment {
		name, _, _ := strings.Cut(variable, "=")
		names[name] = true
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "*"))
	for _, path := range scripts {
		text, e := os.ReadFile(path)
		err = errors.Join(err, e)
		if line := stdinLine.Find(text); line != nil {
			err = fmt.Errorf("%s: %q: want input in place of stdin before a run of gpt", path, line)
		}
		for _, m := range envLine.FindAllSubmatch(text, -1) {
			names[string(m[1])] = true
		}
	}
	return slices.Sorted(maps.Keys(names)), err
}

var stdinLine = regexp.MustCompile(
	`(?m)^(\[.*\] )*stdin .*\n(\[.*\] )*(! )?(runs|exits \d|refused \d) gpt`)

var envLine = regexp.MustCompile(`(?m)^(?:\[.*\] )*env (\w+)=`)

// makeCheckpoint is the script command checkpoint: checkpoint DIR KEY=VALUE... writes a small
// random checkpoint; config.KEY=JSON sets a key of its config.json.
func makeCheckpoint(ts *testscript.TestScript, neg bool, args []string) {
	o := fixture.Options{Config: map[string]any{}}
	for _, arg := range args[1:] {
		key, value, _ := strings.Cut(arg, "=")
		n, _ := strconv.Atoi(value)
		switch key {
		case "vocab":
			o.Vocab = n
		case "seed":
			o.Seed = uint64(n)
		case "positions":
			o.Positions = n
		case "qkvbias":
			o.QKVBias = float64(n)
		case "scale":
			o.Scale, _ = strconv.ParseFloat(value, 64)
		case "shards":
			o.Shards = n
		case "dtype":
			o.DType = weights.DType(value)
		case "masks":
			o.Masks = true
		case "heads":
			o.Heads = true
		case "untied":
			o.Untied = true
		case "prefix":
			o.Prefix = true
		default:
			config, ok := strings.CutPrefix(key, "config.")
			if !ok {
				ts.Fatalf("checkpoint: unknown option %s", arg)
			}
			var v any
			ts.Check(json.Unmarshal([]byte(value), &v))
			o.Config[config] = v
		}
	}
	ts.Check(fixture.Write(ts.MkAbs(args[0]), o))
}

// induction DIR writes the induction model, which is written by hand.
func induction(ts *testscript.TestScript, neg bool, args []string) {
	config, file := testmodel.InductionCheckpoint()
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o777))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.json"), config, 0o666))
	ts.Check(os.WriteFile(filepath.Join(dir, "model.safetensors"), file, 0o666))
}

// byteTokenizer DIR writes a tokenizer whose tokens are bytes.
func byteTokenizer(ts *testscript.TestScript, neg bool, args []string) {
	ts.Check(fixture.ByteTokenizer(ts.MkAbs(args[0])))
}

// pack FORM FILE OUT compresses a file, FORM being gzip or zstd.
func pack(ts *testscript.TestScript, neg bool, args []string) {
	text, err := os.ReadFile(ts.MkAbs(args[1]))
	ts.Check(err)
	var out bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&out)
	if args[0] == "zstd" {
		w, err = zstd.NewWriter(&out)
		ts.Check(err)
	}
	_, err = w.Write(text)
	ts.Check(err)
	ts.Check(w.Close())
	ts.Check(os.WriteFile(ts.MkAbs(args[2]), out.Bytes(), 0o666))
}

// truncate FILE N cuts a file to N bytes.
func truncate(ts *testscript.TestScript, neg bool, args []string) {
	n, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	ts.Check(os.Truncate(ts.MkAbs(args[0]), n))
}

// replace FILE OLD NEW replaces bytes that must be there.
func replace(ts *testscript.TestScript, neg bool, args []string) {
	file := ts.MkAbs(args[0])
	b, err := os.ReadFile(file)
	ts.Check(err)
	if !bytes.Contains(b, []byte(args[1])) {
		ts.Fatalf("%s: %q is not there", args[0], args[1])
	}
	ts.Check(os.WriteFile(file, bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2])), 0o666))
}
