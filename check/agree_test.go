package check_test

// Odd checkpoints, on which the engine and the reference agree.

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/check"
	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// odd are checkpoints that differ from GPT-2 in every way that a config allows.
var odd = []fixture.Options{
	{}, {Activation: "gelu"}, {Activation: "gelu_fast"}, {Activation: "gelu_pytorch_tanh"},
	{Activation: "quick_gelu"}, {Activation: "silu"}, {Activation: "swish"}, {Activation: "relu"},
	{Activation: "tanh"},
	{NoScale: true}, {InverseLayer: true}, {NoScale: true, InverseLayer: true}, {Upcast: true},
	{Untied: true}, {Prefix: true}, {Prefix: true, Untied: true, Masks: true, Heads: true},
	{Inner: 7}, {Inner: 37, Activation: "relu"}, {Inner: 1}, {Epsilon: 1e-3}, {Epsilon: 1e-12},
	{Embd: 1, Head: 1, Epsilon: 0.1}, {Embd: 2, Head: 2}, {Embd: 16, Head: 1}, {Embd: 33, Head: 11},
	{Embd: 64, Head: 4, Layer: 2}, {Embd: 65, Head: 5, Layer: 1}, {Layer: 9},
	{Vocab: 1, Positions: 300}, {Vocab: 2}, {Vocab: 257, Scale: 1e-300}, {Vocab: 517}, {Positions: 1}, {Positions: 2}, {Positions: 3},
	{Positions: 130, Layer: 1}, {Scale: 3}, {Scale: 0.01}, {QKVBias: 2},
	{DType: weights.F16}, {DType: weights.BF16, Untied: true},
	{DType: weights.F16, Embd: 48, Head: 6, Activation: "gelu"}, {Shards: 3, Prefix: true},
	{Shards: 2, Variant: ".fp16"},
}

func TestOddCheckpointsAgree(t *testing.T) {
	if len(odd) < 40 {
		t.Fatalf("%d checkpoints, want 40", len(odd))
	}
	for i, o := range cases.Some(odd, 8, 0) {
		o.Seed = uint64(i)
		dir := t.TempDir()
		if err := fixture.Write(dir, o); err != nil {
			t.Fatal(err)
		}
		if r := check.Expect(t, dir, ""); len(r.Rows) < 5 && o.Positions == 0 || r.Tokens < 1 {
			t.Errorf("%+v: compared only this:\n%v", o, r)
		}
	}
	all, err := fixture.Goldens()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range cases.Some(all, 3, 0) {
		dir := t.TempDir()
		if err := g.Write(dir); err != nil {
			t.Fatal(err)
		}
		check.Expect(t, dir, "")
	}
}

// The promise is about all three formats; the others have a loss, and a row that says how much.
func TestNumberFormats(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{Embd: 32, Head: 2, Positions: 40}); err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"f32", "f16", "bf16", "q8", "q4"} {
		for _, cache := range model.CacheFormats() {
			r := compare(t, dir, model.Options{Format: format, CacheFormat: cache}, check.Options{})
			promise := !strings.HasPrefix(format, "q") && cache == "f32"
			verdict, kl := check.Within, row(r, "KL")
			if !promise {
				verdict = check.Loss
			}
			switch logits := row(r, "logits"); {
			case !r.Agree, logits.Verdict != verdict, logits.Difference == 0:
				t.Errorf("%s, cache %s: want %s\n%v", format, cache, verdict, r)
			case promise == (kl.Difference > 0):
				t.Errorf("%s, cache %s: KL %g\n%v", format, cache, kl.Difference, r)
			}
		}
	}
}

// row returns the row of that name.
func row(r *check.Report, what string) check.Row {
	for _, row := range r.Rows {
		if row.What == what {
			return row
		}
	}
	return check.Row{}
}

// compare compares the checkpoint in a folder.
func compare(t *testing.T, dir string, m model.Options, o check.Options) *check.Report {
	t.Helper()
	p, close, err := check.Open(context.Background(), dir, m)
	if err != nil {
		t.Fatal(err)
	}
	defer close()
	r, err := p.Compare(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// merges is how many of GPT-2's merges writeText's vocabulary has.
const merges = 300

var gpt2 = sync.OnceValue(func() tokenizer.Parts {
	parts, _ := tokenizer.GPT2().Parts()
	return parts
})

// writeText writes a checkpoint with a small vocabulary: the bytes, and GPT-2's first merges after
// change has changed them.
func writeText(t *testing.T, dir string, o fixture.Options, change func(tokens, merges []string)) {
	t.Helper()
	tokens, list := slices.Clone(gpt2().Tokens[:256+merges]), slices.Clone(gpt2().Merges[:merges])
	if change != nil {
		change(tokens, list)
	}
	ids := map[string]int{}
	for id, token := range tokens {
		ids[token] = id
	}
	vocab, err := json.Marshal(ids)
	if err != nil {
		t.Fatal(err)
	}
	o.Vocab = len(tokens)
	if err := fixture.Write(dir, o); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"vocab.json": string(vocab),
		"merges.txt": "#version: 0.2\n" + strings.Join(list, "\n") + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTextsAreCompared(t *testing.T) {
	dir := t.TempDir()
	writeText(t, dir, fixture.Options{Positions: 64}, nil)
	r := check.Expect(t, dir, "the cat sat on the mat\n")
	if got := row(r, "vocabulary").Compared; got != fmt.Sprintf("%d ids, %d merges", 256+merges,
		merges) {
		t.Errorf("vocabulary: %s", got)
	}
	if n := row(r, "ids").Count; n < 100 {
		t.Errorf("%d ids compared, want those of the passage too", n)
	}
}

// tiktoken merges two tokens whenever they make a token: "q" and "zj" here, though the list only
// says how "qz" and "j" make "qzj". Then its ids are no second opinion.
func TestMergesThatTiktokenTakesOtherwiseAreSaid(t *testing.T) {
	dir := t.TempDir()
	writeText(t, dir, fixture.Options{Positions: 64}, func(tokens, merges []string) {
		copy(tokens[len(tokens)-3:], []string{"zj", "qz", "qzj"})
		copy(merges[len(merges)-3:], []string{"z j", "q z", "qz j"})
	})
	r := check.Expect(t, dir, "qzj, the cat")
	if row := row(r, "ids"); row.Verdict != check.NotCompared || !r.Agree ||
		!strings.Contains(row.Where, "BPE") ||
		!strings.HasSuffix(row.Where, "; decoding gives the text back") {
		t.Errorf("%v", r)
	}
}

// A vocabulary that has not all characters of the passage is compared all the same.
func TestSmallVocabulariesAreCompared(t *testing.T) {
	write := func(merges string) string {
		dir := t.TempDir()
		if err := fixture.Write(dir, fixture.Options{Vocab: 5}); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"merges.txt": "#version: 0.2\n" + merges,
			"vocab.json": `{"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4}`} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	dir := write("a b\nb c\n")
	r := check.Expect(t, dir, "")
	if row(r, "vocabulary").Verdict != check.Same || row(r, "ids").Verdict != check.NotCompared {
		t.Errorf("%v", r)
	}
	p, close := open(t, write("b c\na b\n"), model.Options{})
	defer close()
	second, end := open(t, dir, model.Options{})
	defer end()
	p.Reference = second.Reference
	found(t, p, `vocabulary: merge 0: ["b" "c"], reference ["a" "b"]`)
}

// Other kinds of tokenizers have no second opinion; the rest is compared.
func TestOtherTokenizersAreSaid(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{Vocab: 8}); err != nil {
		t.Fatal(err)
	}
	vocab := "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\ncat\n##s\n"
	if err := os.WriteFile(filepath.Join(dir, "vocab.txt"), []byte(vocab), 0o666); err != nil {
		t.Fatal(err)
	}
	r := check.Expect(t, dir, "the cats")
	if row(r, "ids").Verdict != check.NotCompared || row(r, "logits").Verdict != check.Within {
		t.Errorf("%v", r)
	}
}

// A head that is stored and equal to the embedding is no other head.
func TestAHeadThatIsTheEmbeddingIsCompared(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	tensors := fixture.Tensors(fixture.Options{})
	head := tensors[0]
	head.Name = "lm_head.weight"
	write := func(head weights.Tensor) {
		err := weights.WriteFile(context.Background(), filepath.Join(dir, "model.safetensors"), nil,
			append(slices.Clone(tensors), head))
		if err != nil {
			t.Fatal(err)
		}
	}
	write(head)
	check.Expect(t, dir, "")
	p, close := open(t, dir, model.Options{})
	defer close()
	other := slices.Clone(head.Data)
	other[4*17] ^= 1
	head.Data = other
	dir = t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	write(head)
	second, end := open(t, dir, model.Options{})
	defer end()
	p.Reference = second.Reference
	found(t, p, "weights: lm_head.weight [1 2]: ")
}

func TestBadInputIsRefusedBeforeAnythingIsRead(t *testing.T) {
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	read := func(bytes, _ int64) { t.Errorf("%d bytes were read", bytes) }
	_, _, err = check.Read(c, nil, reference.Options{Memory: 1000, Progress: read})
	if err == nil || !strings.Contains(err.Error(), "memory: 9495 weights take") {
		t.Errorf("1000 bytes of memory: %v", err)
	}
	c.Config.Positions = 24 // the engine's reading only
	_, _, err = check.Read(c, nil, reference.Options{Progress: read})
	if err == nil || !strings.Contains(err.Error(), "wpe.weight: shape [23 15], want [24 15]; the "+
		"reference finds no fault") {
		t.Errorf("another config: %v", err)
	}
}
