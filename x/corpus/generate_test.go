package main

// corpus generate, from its command line to its files, through the pipeline of this process.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/internal/fault"
	"picogpt/internal/strictjson"
	"picogpt/weights/demo"
	"picogpt/x/corpus/internal/finish"
)

// generated runs corpus generate over a file, and returns its manifest, its lines, and what it says.
func generated(t *testing.T, file string, args ...string) (finish.Manifest, []string, string) {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	var said bytes.Buffer
	args = append([]string{"generate", "--input", file, "-o", out}, args...)
	if err := run(t.Context(), args, &said, &said); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	b, err := os.ReadFile(filepath.Join(out, "manifest.json"))
	var m finish.Manifest
	if err == nil {
		err = json.Unmarshal(b, &m)
	}
	if err != nil {
		t.Fatal(err)
	}
	names, _ := filepath.Glob(filepath.Join(out, "texts-*-of-*.jsonl"))
	var lines []string
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines = append(lines, slices.Collect(strings.Lines(string(b)))...)
	}
	return m, lines, said.String()
}

// TestGenerateTakesWhatTheCheckpointSays: as flags do, which outrank it; the manifest has it.
func TestGenerateTakesWhatTheCheckpointSays(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "prompts.txt")
	for name, data := range map[string][]byte{"prompts.txt": []byte("Once upon a time\nThe dog\n"),
		"config.json": demo.Config(), "model.safetensors": demo.Weights()} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	save := func(generation string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, "generation_config.json"),
			[]byte(`{"eos_token_id":50256`+generation+`}`), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	texts := func(args ...string) ([]string, finish.Manifest, string) {
		t.Helper()
		m, lines, said := generated(t, file, append([]string{"--form", "lines", "-m", dir}, args...)...)
		return lines, m, said
	}
	save("")
	plain, _, _ := texts("-n", "9")
	want, _, said := texts("-n", "9", "--temp", "0.5", "--top-p", "0.7")
	if strings.Contains(said, "generation_config") {
		t.Error(said)
	}
	save(`,"temperature":0.5,"top_p":0.7,"max_new_tokens":9,"typical_p":1.0`)
	got, m, said := texts()
	if !slices.Equal(got, want) || !strings.Contains(said, "corpus: --max-tokens=9 --temp=0.5 "+
		"--top-p=0.7 from generation_config.json; --generation-config none leaves them") {
		t.Errorf("%q, want %q; %s", got, want, said)
	}
	if o := m.Options.Generate; o.Temperature != 0.5 || !slices.Equal(o.Saved,
		[]string{"--max-tokens=9", "--temp=0.5", "--top-p=0.7"}) {
		t.Errorf("%+v", o)
	}
	if got, _, _ := texts("--temp", "0.8", "--top-p", "1", "-n", "9"); !slices.Equal(got, plain) {
		t.Errorf("%q, want %q", got, plain)
	}
	if got, _, _ := texts("--generation-config", "none", "-n", "9"); !slices.Equal(got, plain) {
		t.Errorf("%q, want %q", got, plain)
	}
	save(`,"min_new_tokens":3,"suppress_tokens":[11,13],"typical_p":0.3,"max_new_tokens":99999`)
	got, _, _ = texts("--temp", "0.5")
	if len(got) != 2 || strings.Contains(strings.Join(got, ""), "[11,") ||
		strings.Contains(strings.Join(got, ""), ",11,") {
		t.Errorf("%q", got)
	}
	save(`,"top_k":-1`)
	err := run(t.Context(), []string{"generate", "--input", file, "-o", filepath.Join(dir, "out"), "-m",
		dir}, io.Discard, io.Discard)
	if err == nil || !strings.HasPrefix(err.Error(), "generation_config.json: top_k -1: ") {
		t.Error(err)
	}
}

func TestGenerateWritesTheSameForAnyWorkersAndPieces(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts.txt")
	var prompts strings.Builder
	for i := range 24 {
		fmt.Fprintf(&prompts, "The %d%s\n", i, strings.Repeat(" cats", i%5))
	}
	if err := os.WriteFile(file, []byte(prompts.String()), 0o666); err != nil {
		t.Fatal(err)
	}
	flags := []string{"--form", "lines", "-n", "5", "--seed", "3", "--logprobs", "2"}
	m, lines, said := generated(t, file, flags...)
	if m.Command != "generate" || m.Records != 24 || m.Errors != 0 || len(lines) != 24 ||
		m.Tokens > 24*5 || m.Options.Generate.Seed != 3 {
		t.Errorf("%+v and %d lines", m, len(lines))
	}
	if want := "24 records, 0 errors, "; !strings.Contains(said, want) {
		t.Errorf("said %q, want %q", said, want)
	}
	for _, c := range [][]string{
		{"--workers", "1", "--piece-bytes", "100"}, {"--workers", "2", "--piece-bytes", "40"},
		{"--workers", "7", "--piece-bytes", "1"},
	} {
		m2, lines2, _ := generated(t, file, append(c, flags...)...)
		if m2.Pieces < 3 || m2.Digest != m.Digest || m2.Tokens != m.Tokens || m2.Sum != m.Sum {
			t.Errorf("%q: %+v, want %+v", c, m2, m)
		}
		if !slices.Equal(lines2, lines) {
			t.Errorf("%q: other lines", c)
		}
	}
	var fields []string
	err := strictjson.Members([]byte(lines[0]), func(key string, _ json.RawMessage) error {
		fields = append(fields, key)
		return nil
	})
	want := slices.DeleteFunc(slices.Clone(textFields), func(f string) bool { return f == "id" })
	if err != nil || !slices.Equal(fields, want) {
		t.Errorf("fields %q, %v; want %q", fields, err, want)
	}
}

func TestMistakesInTheFlagsOfGenerate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "prompts.jsonl")
	if err := os.WriteFile(file, []byte(`{"prompt":"a"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(t.TempDir(), "out")
	for _, c := range [][2]string{
		{"--temp=-1", "--temp -1: want 0 (greedy) or a finite number above it"},
		{"--top-p=2", "--top-p 2: want a number from 0 to 1 (off)"},
		{"--samples=0", "--samples 0: want at least 1"},
		{"--stop=", "--stop: want at least one byte, found none"},
		{"--logprobs=-1", "--logprobs -1: want 0 or more"},
		{"--fields=ids,logits", `--fields: "logits" is no field of the output; the fields are ` +
			strings.Join(textFields, ", ")},
		{"--fields=top", "--fields: top wants --logprobs K"},
		{"--seed=-1", `--seed: want a whole number, 0 or more, found "-1"`},
	} {
		var said bytes.Buffer
		err := run(t.Context(), []string{"generate", "--input", file, "-o", out, c[0]}, &said, &said)
		if usage := (fault.Usage{}); !errors.As(err, &usage) || err.Error() != c[1] {
			t.Errorf("%s: %v, want %s", c[0], err, c[1])
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("a mistake has made the folder")
	}
}
