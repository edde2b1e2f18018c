package main

// Other programs' answers, through the command line.

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// gpt returns a function that runs the command and returns what it prints.
func gpt(t *testing.T) func(args ...string) string {
	w := &worker{}
	t.Cleanup(w.close)
	return func(args ...string) string {
		t.Helper()
		r, err := w.do(job{Args: args, Env: os.Environ(), Dir: "."})
		if err != nil || r.Status != 0 {
			t.Fatalf("gpt %q: %v, exit status %d: %s", args, err, r.Status, r.Stderr)
		}
		return string(r.Stdout)
	}
}

func TestGreedyStoriesArePyTorchs(t *testing.T) {
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	gpt := gpt(t)
	for _, s := range cases.Some(stories.Greedy, 2, 0) {
		n := strconv.Itoa(len(s.IDs))
		if got, want := gpt("--temp", "0", "-n", n, "--", s.Prompt),
			s.Prompt+s.Text+"\n"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		got := gpt("--temp", "0", "-n", n, "--output", "ids", "--tokens", ids(s.PromptIDs),
			"--no-display-prompt")
		if want := ids(s.IDs) + "\n"; got != want {
			t.Errorf("%q: got %s, want %s", s.Prompt, got, want)
		}
	}
}

func ids(x []int) string { return string(strictjson.AppendIDs(nil, x)) }

func TestLogProbsArePyTorchs(t *testing.T) {
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	gpt := gpt(t)
	// The greedy ids' log-probabilities are those of the story's last logits where it gives them:
	// the first new token's.
	for _, l := range stories.LogProbs {
		for i := 1; i < min(len(l.IDs), 4); i++ {
			var got struct {
				IDs      []int
				LogProbs []float64
			}
			out := gpt("--temp", "0", "-n", "1", "--output", "json", "--tokens", ids(l.IDs[:i]))
			if err := json.Unmarshal([]byte(out), &got); err != nil {
				t.Fatal(err)
			}
			if len(got.IDs) != 1 || len(got.LogProbs) != 1 {
				t.Fatalf("%s, want one token", out)
			}
			want := *l.LogProbs[i]
			if got.IDs[0] != l.IDs[i] {
				if got.LogProbs[0] < want {
					t.Errorf("%q, token %d: greedy took %v, the text's own has %v", l.Text, i,
						got.LogProbs[0], want)
				}
			} else if math.Abs(got.LogProbs[0]-want) > 1e-4 {
				t.Errorf("%q, token %d: log-probability %v, want %v", l.Text, i, got.LogProbs[0],
					want)
			}
		}
	}
}

// parsed is gpt logits' object with the numbers as they are printed.
type parsed struct {
	Tokens []int
	Logits json.RawMessage
}

func TestLogitsAreExact(t *testing.T) {
	cases.NotShort(t)
	goldens, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	gpt := gpt(t)
	for _, g := range goldens {
		t.Run(g.Name, func(t *testing.T) {
			dir := t.TempDir()
			if err := g.Write(dir); err != nil {
				t.Fatal(err)
			}
			m := testmodel.Open(t, dir, model.Options{})
			tokens := g.Sequences[0].Tokens
			rows := make([][]float32, len(tokens))
			visit := func(r model.Row) { rows[r.Index] = append(rows[r.Index], r.Logits...) }
			if err := m.Eval(context.Background(),
				model.Input{Session: m.NewSession(), Tokens: tokens, Visit: visit}); err != nil {
				t.Fatal(err)
			}

			var last, all parsed
			unmarshal(t, gpt("logits", "-m", dir, "--tokens", ids(tokens)), &last)
			unmarshal(t, gpt("logits", "-m", filepath.Join(dir, "model.safetensors"),
				"--positions", "all", "--tokens", ids(tokens)), &all)
			if got, want := ids(last.Tokens), ids(tokens); got != want {
				t.Errorf("tokens %s, want %s", got, want)
			}
			var printed []json.RawMessage
			unmarshal(t, string(all.Logits), &printed)
			if len(printed) != len(rows) {
				t.Fatalf("%d positions, want %d", len(printed), len(rows))
			}
			for i := range rows {
				compareBits(t, fmt.Sprintf("position %d", i), printed[i], rows[i])
			}
			compareBits(t, "last position", last.Logits, rows[len(rows)-1])
			testArrays(t, gpt, dir, tokens, rows)
		})
	}
}

// testArrays compares the files of gpt logits with rows of logits.
func testArrays(
	t *testing.T, gpt func(...string) string, dir string, tokens []int, rows [][]float32,
) {
	for positions, want := range map[string][]float32{"last": rows[len(rows)-1],
		"all": slices.Concat(rows...)} {
		for _, end := range []string{".npy", ".safetensors"} {
			path := filepath.Join(dir, positions+end)
			gpt("logits", "-m", filepath.Join(dir, "model.safetensors"), "--tokens", ids(tokens),
				"--positions", positions, "-o", path)
			file, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			numbers := file[len(file)-4*len(want):]
			for i, x := range want {
				if binary.LittleEndian.Uint32(numbers[4*i:]) != math.Float32bits(x) {
					t.Fatalf("%s: number %d is not %v", path, i, x)
				}
			}
			shape := fmt.Sprintf("(%d, %d)", len(tokens), len(rows[0]))
			if positions == "last" {
				shape = fmt.Sprintf("(%d,)", len(rows[0]))
			}
			if end == ".safetensors" {
				shape = strings.NewReplacer("(", "[", " ", "", ",)", "]", ")", "]").Replace(shape)
			}
			if head := string(file[:len(file)-4*len(want)]); !strings.Contains(head, shape) {
				t.Errorf("%s: %q, want the shape %s", path, head, shape)
			}
		}
	}
}

func unmarshal(t *testing.T, text string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
}

// compareBits reads numbers as float32s, and checks that none could be shorter.
func compareBits(t *testing.T, what string, text json.RawMessage, want []float32) {
	t.Helper()
	var got []json.Number
	unmarshal(t, string(text), &got)
	if len(got) != len(want) {
		t.Fatalf("%s: %d logits, want %d", what, len(got), len(want))
	}
	for i, n := range got {
		x, err := strconv.ParseFloat(n.String(), 32)
		if err != nil || math.Float32bits(float32(x)) != math.Float32bits(want[i]) {
			t.Fatalf("%s, id %d: %s, want %v", what, i, n, want[i])
		}
		if digits, most := strings.Count(n.String(), ""), 17; digits > most {
			t.Fatalf("%s, id %d: %s is longer than a float32 needs", what, i, n)
		}
	}
}

func TestNumbersAreShortAndExact(t *testing.T) {
	x := []float32{0, float32(math.Copysign(0, -1)), 1, -1.5, 0.1, 16777216, 3.4028235e38, 1e-45,
		1e21, -1.0000001}
	want := "[0,-0,1,-1.5,0.1,1.6777216e+07,3.4028235e+38,1e-45,1e+21,-1.0000001]"
	got := strictjson.AppendFloats(nil, x)
	if string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if !json.Valid(got) {
		t.Errorf("%s is not JSON", got)
	}
}

func TestTokenizeMatchesTheGoldens(t *testing.T) {
	file := filepath.Join("..", "..", "..", "shared", "goldens", "tokenizer.jsonl")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Skipf("%v: testdata/script/tokenize.txtar has a few such strings", err)
	}
	gpt, checked := gpt(t), 0
	for line := range strings.Lines(string(b)) {
		var c struct {
			Text string
			IDs  []int
		}
		unmarshal(t, line, &c)
		if len(c.Text) > 2000 || strings.Contains(c.Text, "\x00") || checked == 40 {
			continue // what fits an argument, and a few of them: package tokenizer checks all
		}
		checked++
		if got, want := gpt("tokenize", "--", c.Text), ids(c.IDs)+"\n"; got != want {
			t.Errorf("%q: got %s, want %s", c.Text, got, want)
		}
	}
	if checked == 0 {
		t.Errorf("%s: nothing to check", file)
	}
}
