package work

// Texts that continue prompts: each is the text of its seed, whatever other texts are generated
// with it.

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"iter"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/decode"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/internal/lines"
	"picogpt/internal/rows"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
)

func TestEachTextIsWhatDecodeMakesOfItsSeed(t *testing.T) {
	o := usual()
	j := jobOf(t, o, prompts())
	total, digest := worked(t, newProcess(), j)
	all := parsed(t, linesOf(t, j, "texts-*"))
	if total.Records != 30 || total.Errors != 0 || len(all) != 60 {
		t.Fatalf("%+v and %d lines", total, len(all))
	}
	m := testmodel.Demo(t, model.Options{})
	var want eval.Digest
	reasons, tokens := map[string]int{}, 0
	for i, w := range all {
		again := written{Source: all[0].Source, Line: i/2 + 1, ID: w.ID, Sample: i % 2,
			Seed: w.Seed, PromptIDs: w.PromptIDs, IDs: []int{}, LogProbs: []float64{}}
		record := eval.Record{ID: w.ID}
		for token, err := range decode.Generate(t.Context(), m.NewSession(), w.PromptIDs,
			decode.Options{MaxTokens: o.MaxTokens, Stop: o.Stop, Vocabulary: tokenizer.GPT2(),
				Params: sample.Params{Temperature: o.Temperature, TopK: o.TopK, TopP: o.TopP,
					RepeatPenalty: o.RepeatPenalty, Seed: w.Seed}}) {
			if err != nil {
				t.Fatal(err)
			}
			if token.ID != 50256 {
				again.IDs = append(again.IDs, token.ID)
				again.LogProbs = append(again.LogProbs, token.LogProb)
				record.Tokens = append(record.Tokens, token.ID)
				record.LogProbs = append(record.LogProbs, &token.LogProb)
				tokens++
			}
			again.Text += token.Text
			again.FinishReason = token.Finish
		}
		if !reflect.DeepEqual(w, again) {
			t.Errorf("%+v, want %+v", w, again)
		}
		if i%2 == 1 && w.Seed != all[i-1].Seed+1 {
			t.Errorf("line %d: seeds %d and %d", w.Line, all[i-1].Seed, w.Seed)
		}
		reasons[w.FinishReason]++
		if err := want.Add(&record); err != nil {
			t.Fatal(err)
		}
	}
	if digest != want || total.Tokens != tokens {
		t.Errorf("%d tokens, digest %v; want %d and %v", total.Tokens, digest, tokens, want)
	}
	if reasons["stop"] == 0 || reasons["length"] == 0 {
		t.Errorf("texts end by %v, want a stop string and the length among them", reasons)
	}
}

func TestTextsDoNotDependOnHowTheWorkIsDivided(t *testing.T) {
	rows := prompts()
	first := jobOf(t, usual(), rows)
	total, digest := worked(t, newProcess(), first)
	want := places(parsed(t, linesOf(t, first, "texts-*")))
	sharded := make([][]string, 7)
	for i, row := range rows {
		sharded[(i*5+3)%7] = append(sharded[(i*5+3)%7], row)
	}
	for _, c := range []struct {
		name    string
		files   [][]string
		bytes   int64
		workers int
		threads int
	}{
		{"the same", [][]string{rows}, 1 << 20, 1, 1},
		{"small pieces", [][]string{rows}, 300, 2, 0},
		{"a line a piece", [][]string{rows}, 1, 7, 2},
		{"7 files", sharded, 500, 7, 3},
	} {
		j := jobOf(t, usual(), c.files...)
		j.Input.PieceBytes, j.Workers, j.Model.Threads = c.bytes, c.workers, c.threads
		got, gotDigest := worked(t, newProcess(), j)
		if !reflect.DeepEqual(got, total) || gotDigest != digest {
			t.Errorf("%s: %+v, digest %v; want %+v, %v", c.name, got, gotDigest, total, digest)
		}
		if texts := places(parsed(t, linesOf(t, j, "texts-*"))); !slices.Equal(texts, want) {
			t.Errorf("%s: other texts", c.name)
		}
	}
}

func TestAnAttemptThatIsCancelledLeavesNothingAndTheNextWritesTheSame(t *testing.T) {
	p := newProcess()
	undisturbed, retried := jobOf(t, usual(), prompts()), jobOf(t, usual(), prompts())
	retried.Input = undisturbed.Input
	worked(t, p, undisturbed)
	piece := pieces(t, retried)[0]
	ended := 0
	for wait := time.Microsecond; ; wait *= 3 {
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := p.Do(ctx, retried, &piece)
		cancel()
		if err == nil {
			break
		}
		ended++
		var left []string
		filepath.WalkDir(retried.Output, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.IsDir() {
				left = append(left, path)
			}
			return err
		})
		if err != context.DeadlineExceeded || left != nil {
			t.Fatalf("after %v: %v, files %q", wait, err, left)
		}
	}
	if ended == 0 {
		t.Error("no attempt was cancelled")
	}
	if a, b := linesOf(t, undisturbed, "*.jsonl"), linesOf(t, retried, "*.jsonl"); !slices.Equal(a, b) {
		t.Errorf("%q\nwant\n%q", b, a)
	}
}

func TestEqualPromptsHaveEqualTextsUnlessTheyHaveIDs(t *testing.T) {
	o := usual()
	o.Samples = 1
	j := jobOf(t, o, []string{`{"prompt":"The cat"}`, `{"prompt":"The cat"}`,
		`{"prompt":"The cat","id":1}`, `{"prompt":"The cat","id":2}`, `{"tokens":[464,3797]}`})
	worked(t, newProcess(), j)
	all := parsed(t, linesOf(t, j, "texts-*"))
	if len(all) != 5 || all[0].Seed != all[1].Seed || all[0].Text != all[1].Text {
		t.Fatalf("%+v", all)
	}
	seeds := map[uint64]bool{}
	for _, w := range all[1:] {
		seeds[w.Seed] = true
	}
	if len(seeds) != 4 {
		t.Errorf("seeds %v, want four", slices.Collect(maps.Keys(seeds)))
	}
}

func TestRowsThatCannotBeContinuedAreSetAside(t *testing.T) {
	good := []string{`{"id":{"a": 1},"prompt":"The dog"}`, `{"prompt":"","id":"e"}`,
		`{"prompt":"Once","id":3,"seed":18446744073709551615}`}
	bad := []struct{ row, reason string }{
		{`{"id":1}`, "want prompt, or tokens"},
		{`{"prompt":null}`, "want prompt, or tokens"},
		{`{"prompt":"a","tokens":[1]}`, "want prompt, or tokens"},
		{`{"prompt":7}`, "prompt: want a string"},
		{`{"prompt":"` + strings.Repeat(" and", 600) + `"}`,
			"prompt of 600 tokens: context: 0 tokens and 600 more, want at most 256 (n_positions)"},
		{`{"prompt":"` + strings.Repeat(" and", 256) + `"}`, "prompt of 256 tokens and 7 new ones " +
			"(the last takes no position): context: 256 tokens and 6 more, want at most 256 " +
			"(n_positions)"},
		{`{"tokens":[50257]}`, "token 0: id 50257, want 0 to 50256"},
		{`{"tokens":[1,-1]}`, "token 1: id -1, want 0 to 50256"},
		{`{"tokens":[1.5]}`, "tokens: want an array of whole numbers"},
		{`{"prompt":"a","seed":-9223372036854775809}`, "seed: want a whole number from -2^63 to 2^64-1"},
		{`{"prompt":"a","seed":18446744073709551616}`,
			"seed: want a whole number from -2^63 to 2^64-1"},
		{`["prompt"]`, "byte 0: want an object, found an array"},
	}
	o := usual()
	o.Samples = 1
	alone := jobOf(t, o, good)
	worked(t, newProcess(), alone)
	var rows []string
	for i, b := range bad {
		rows = append(rows, b.row)
		if i < len(good) {
			rows = append(rows, good[i])
		}
	}
	j := jobOf(t, o, rows)
	total, _ := worked(t, newProcess(), j)
	if total.Records != len(good) || total.Errors != len(bad) {
		t.Errorf("%+v", total)
	}
	a, b := parsed(t, linesOf(t, alone, "texts-*")), parsed(t, linesOf(t, j, "texts-*"))
	if !slices.Equal(places(a), places(b)) || string(b[0].ID) != `{"a":1}` {
		t.Errorf("%+v\nwant\n%+v", b, a)
	}
	for i, line := range linesOf(t, j, "errors/*") {
		var e lines.Error
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		want := i + 1 + min(i, len(good))
		if e.Error != bad[i].reason || e.Line != want || e.Source == "" {
			t.Errorf("%.60s: %+v, want %s on line %d", bad[i].row, e, bad[i].reason, want)
		}
	}
}

func TestOptionsThatNoTextCanFollowEndTheRun(t *testing.T) {
	o := usual()
	o.Temperature = -1
	j := jobOf(t, o, prompts())
	piece := pieces(t, j)[0]
	const want = "temperature -1: want 0 (greedy) or a finite number above it"
	if _, err := newProcess().Do(t.Context(), j, &piece); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	if left := linesOf(t, j, "*.jsonl"); left != nil {
		t.Errorf("%q", left)
	}
}

func TestFieldsAndThoseOfTheInput(t *testing.T) {
	o := usual()
	o.Fields, o.Keep, o.Samples, o.Top = []string{"id", "sample", "top"}, true, 1, 1
	o.MaxTokens = 1
	j := jobOf(t, o, []string{`{"prompt":"Once upon a","id":7,"text":"x","more":{"b":[1, 2]}}`})
	worked(t, newProcess(), j)
	got := linesOf(t, j, "texts-*")
	want := `{"id":7,"sample":0,"top":[[{"id":640,"text":" time","logprob":`
	const end = `}]],"prompt":"Once upon a","text":"x","more":{"b":[1,2]}}` + "\n"
	if len(got) != 1 || !strings.HasPrefix(got[0], want) || !strings.HasSuffix(got[0], end) {
		t.Errorf("%q", got)
	}
}

// repeated yields one object again and again, and counts how often.
func repeated(o rows.Object, n *int) iter.Seq[*item] {
	return func(yield func(*item) bool) {
		for *n = 1; ; *n++ {
			it := &item{form: "jsonl"}
			it.Object = o
			if !yield(it) {
				return
			}
		}
	}
}

func TestRowsAreReadAheadByTheirNumberAndTheirBytes(t *testing.T) {
	p := newProcess()
	j := jobOf(t, usual())
	l, err := p.Load(t.Context(), j.Model)
	if err != nil {
		t.Fatal(err)
	}
	prompt := rows.Member{Key: "prompt", Value: json.RawMessage(`"Once"`)}
	large := rows.Member{Key: "x", Value: bytes.Repeat([]byte(" "), bytesAhead/2)}
	for _, c := range []struct {
		object rows.Object
		most   int
	}{
		{rows.Object{prompt}, textsAhead + 1}, {rows.Object{prompt, large}, 3},
	} {
		read, texts := 0, 0
		r := &run{process: p, job: j, loaded: l}
		for o, err := range r.generate(t.Context(), repeated(c.object, &read)) {
			if err != nil || o.err != nil || len(o.records) != 2 {
				t.Fatal(o, err)
			}
			if texts++; read > c.most+texts-1 {
				t.Fatalf("%d rows are read for %d that are written, want at most %d", read, texts,
					c.most+texts-1)
			}
			if texts == 3 {
				break
			}
		}
	}
}
