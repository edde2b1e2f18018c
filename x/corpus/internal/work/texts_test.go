package work

// Runs that continue prompts, and what they have written, for tests.

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/decode"
	"picogpt/eval"
	"picogpt/sample"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
)

// prompts are prompts of different kinds and lengths, some of them without ids.
func prompts() (lines []string) {
	beginnings := []string{"Once upon a time", "The dog", "", "Lily and Max said \\\"", "é🙂"}
	for i := range 30 {
		text := beginnings[i%5] + strings.Repeat(" and", i)
		switch i % 4 {
		case 0:
			lines = append(lines, fmt.Sprintf(`{"id":%d,"prompt":"%s"}`, i, text))
		case 1:
			lines = append(lines, fmt.Sprintf(`{"prompt":"%s","id":"i%d","seed":%d}`, text, i, i))
		case 2:
			lines = append(lines, fmt.Sprintf(`{"prompt":"%s"}`, text))
		default:
			lines = append(lines, fmt.Sprintf(`{"tokens":[7454,%d]}`, 1000+i))
		}
	}
	return lines
}

// usual are options that cut texts in several ways.
func usual() job.GenerateOptions {
	return job.GenerateOptions{Samples: 2, Options: decode.Options{Overflow: decode.OverflowError,
		MaxTokens: 7, Stop: []string{" was"}, Params: sample.Params{Seed: 1, Temperature: 0.9, TopK: 40,
			TopP: 0.95, RepeatPenalty: 1.1}}}
}

// jobOf is a run over files with such lines.
func jobOf(t *testing.T, o job.GenerateOptions, files ...[]string) *job.Job {
	t.Helper()
	dir := t.TempDir()
	for i, lines := range files {
		name := filepath.Join(dir, fmt.Sprintf("prompts-%d.jsonl", i))
		if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out := t.TempDir()
	return &job.Job{Command: job.Generate, Output: out, Work: filepath.Join(out, ".work"),
		Input:    input.Options{Patterns: []string{filepath.Join(dir, "*")}, PieceBytes: 1 << 20},
		Model:    job.Model{Dtype: "auto", CacheDtype: "f32"},
		Generate: job.GenerationOf(&o), Workers: 1}
}

// pieces cuts the input of a run.
func pieces(t *testing.T, j *job.Job) (all []job.Piece) {
	t.Helper()
	sources, err := input.Match(t.Context(), j.Input)
	if err != nil {
		t.Fatal(err)
	}
	var parts []input.Part
	for _, s := range sources {
		more, err := input.Cut(t.Context(), s, j.Input.PieceBytes)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, more...)
	}
	packed := input.Pack(parts, j.Input.PieceBytes)
	for i, parts := range packed {
		all = append(all, job.Piece{Index: i, Of: len(packed), Parts: parts})
	}
	return all
}

// worked processes all pieces, j.Workers at a time, and returns the results.
func worked(t *testing.T, p *Process, j *job.Job) (total Summary, digest eval.Digest) {
	t.Helper()
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, piece := range pieces(t, j) {
		all.Go(func() {
			s, err := p.Do(t.Context(), j, &piece)
			mu.Lock()
			defer mu.Unlock()
			var d eval.Digest
			if err == nil {
				err = d.UnmarshalText([]byte(s.Digest))
			}
			if err != nil {
				t.Error(err)
				return
			}
			digest.Merge(d)
			total.Records += s.Records
			total.Errors += s.Errors
			total.Tokens += s.Tokens
		})
	}
	all.Wait()
	return total, digest
}

// linesOf are the lines of files that match a pattern, in their order.
func linesOf(t *testing.T, j *job.Job, pattern string) (all []string) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(j.Output, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(b)) {
			all = append(all, line)
		}
	}
	return all
}

// A written text.
type written struct {
	Source       string          `json:"source"`
	Line         int             `json:"line"`
	ID           json.RawMessage `json:"id"`
	Sample       int             `json:"sample"`
	Seed         uint64          `json:"seed"`
	PromptIDs    []int           `json:"prompt_ids"`
	IDs          []int           `json:"ids"`
	Text         string          `json:"text"`
	LogProbs     []float64       `json:"logprobs"`
	FinishReason string          `json:"finish_reason"`
}

func parsed(t *testing.T, lines []string) (all []written) {
	t.Helper()
	for _, line := range lines {
		var w written
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		all = append(all, w)
	}
	return all
}

// places removes the positions from texts, and sorts the texts.
func places(all []written) []string {
	var plain []string
	for _, w := range all {
		w.Source, w.Line = "", 0
		b, _ := json.Marshal(w)
		plain = append(plain, string(b))
	}
	slices.Sort(plain)
	return plain
}
