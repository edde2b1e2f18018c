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
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"

	"picogpt/internal/testing/cases"
	"picogpt/internal/testing/fakehub"
	"picogpt/internal/testing/fixture"
	"picogpt/weights"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gpt": main, "curl": curl})
}

func TestScripts(t *testing.T) { testscript.Run(t, scripts("testdata/script")) }

// scripts are those of a folder.
func scripts(dir string) testscript.Params {
	return testscript.Params{
		Dir: dir,
		Setup: func(e *testscript.Env) error {
			e.Setenv("GPT_KERNEL", os.Getenv("GPT_KERNEL"))
			e.Setenv("GOGC", "off") // each process ends soon
			e.Values[hubKey{}] = new(*fakehub.Hub)
			files, err := filepath.Abs("../../checkpoint/testdata")
			e.Setenv("CHECKPOINTS", files)
			return err
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits":         exits,
			"refused":       refused,
			"checkpoint":    makeCheckpoint,
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

// exits STATUS PROGRAM ARG... runs a program that must end with that status.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if (got == want) == neg {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}

// refused STATUS PROGRAM ARG... runs a program that must end with that status, print nothing on
// stdout, and on stderr one line that says why and at most one hint.
func refused(ts *testscript.TestScript, neg bool, args []string) {
	exits(ts, neg, args)
	if got := ts.ReadFile("stdout"); got != "" {
		ts.Fatalf("stdout: %q, want nothing", got)
	}
	lines := strings.SplitAfter(ts.ReadFile("stderr"), "\n")
	why, hint := lines[0], strings.Join(lines[1:], "")
	if !strings.HasPrefix(why, "gpt: ") || strings.HasPrefix(why, "gpt: hint: ") ||
		!strings.HasSuffix(why, "\n") {
		ts.Fatalf("stderr: want a line that says why")
	}
	if hint != "" && (!strings.HasPrefix(hint, "gpt: hint: ") || strings.Count(hint, "\n") != 1) {
		ts.Fatalf("stderr: want at most one hint after the first line")
	}
}

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
