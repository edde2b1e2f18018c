// Opening a checkpoint from its files, and what is said of one that is not right.
package reference

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// Files are read as the project's own reader reads them: every type, prefix, buffer and shard.
func TestOpenReadsTheSameWeights(t *testing.T) {
	for name, o := range map[string]fixture.Options{
		"f32": {}, "f16": {DType: weights.F16}, "bf16": {DType: weights.BF16},
		"prefix": {Prefix: true, Masks: true, Heads: true}, "untied": {Untied: true},
		"shards": {Shards: 3}, "shards of a variant": {Shards: 3, Variant: ".fp16"},
	} {
		dir := t.TempDir()
		if err := fixture.Write(dir, o); err != nil {
			t.Fatal(err)
		}
		path := dir
		if o.Variant != "" { // it is the index that is named
			path = filepath.Join(dir, "model.safetensors.index"+o.Variant+".json")
		}
		m, err := Open(path)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if m.Encoder != nil || !strings.Contains(m.NoEncoder.Error(), "too small for GPT-2") {
			t.Errorf("%s: NoEncoder %v", name, m.NoEncoder)
		}
		o.Shards = 0
		config, file := fixture.Checkpoint(o)
		p, hp := load(t, config, file)
		if m.HParams != hp {
			t.Errorf("%s: %+v, want %+v", name, m.HParams, hp)
		}
		ids := []int{3, 1, 28, 0}
		want, err := GPT2(ids, p, hp)
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.Logits(context.Background(), ids)
		if err != nil || !slices.Equal(got.Data, want.Data) {
			t.Errorf("%s: logits differ, %v", name, err)
		}
	}
}

// broken writes a checkpoint, changed, and opens it.
func broken(t *testing.T, o Options, change func(dir string, config map[string]any)) error {
	t.Helper()
	dir := t.TempDir()
	if err := fixture.Write(dir, fixture.Options{}); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "config.json")
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	config := map[string]any{}
	if err := json.Unmarshal(b, &config); err != nil {
		t.Fatal(err)
	}
	change(dir, config)
	if b, err = json.Marshal(config); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = o.Open(dir)
	return err
}

func TestACheckpointThatIsNotRightIsNamedBeforeItIsRead(t *testing.T) {
	cut := func(at int64) func(string, map[string]any) {
		return func(dir string, _ map[string]any) {
			if err := os.Truncate(filepath.Join(dir, "model.safetensors"), at); err != nil {
				t.Fatal(err)
			}
		}
	}
	set := func(key string, value any) func(string, map[string]any) {
		return func(_ string, config map[string]any) { config[key] = value }
	}
	for want, change := range map[string]func(string, map[string]any){
		"wte.weight: shape [29 15], want [30 15] by config.json":              set("vocab_size", 30),
		"h.0.mlp.c_fc.weight: shape [15 60], want [15 61] by config.json":     set("n_inner", 61),
		"h.3.ln_1.weight: missing, want shape [15] by config.json":            set("n_layer", 4),
		"a tensor of block 2, want blocks 0 to 1 by n_layer 2 of config.json": set("n_layer", 2),
		"lm_head.weight: missing, want shape [29 15] by config.json":          set("tie_word_embeddings", false),
		"no header":         cut(5),
		"a header of":       cut(100),
		"model.safetensors": cut(5000),
		"model.safetensors: no such file": func(dir string, _ map[string]any) {
			os.Remove(filepath.Join(dir, "model.safetensors"))
		},
	} {
		o := Options{Before: func(int64) error { t.Errorf("%s: is read", want); return nil }}
		err := broken(t, o, change)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q in one line", err, want)
		}
	}
}

func TestMemoryIsToldAndBoundedBeforeItIsTaken(t *testing.T) {
	const bytes = 8 * (29*15 + 23*15 + 2*15 + 3*(4*15+15*45+45+15*15+15+15*60+60+60*15+15))
	told := int64(0)
	o := Options{Memory: bytes, Before: func(n int64) error { told = n; return nil }}
	var done, total int64
	o.Progress = func(d, of int64) { done, total = d, of }
	nothing := func(string, map[string]any) {}
	if err := broken(t, o, nothing); err != nil || told != bytes || done != bytes || total != bytes {
		t.Errorf("told %d, read %d of %d, %v, want %d", told, done, total, err, bytes)
	}
	o.Memory--
	if err := broken(t, o, nothing); err == nil ||
		!strings.Contains(err.Error(), "memory: 9495 weights take") {
		t.Errorf("with a byte less: %v", err)
	}
	stop := errors.New("stop")
	o = Options{Before: func(int64) error { return stop }}
	o.Progress = func(int64, int64) { t.Error("read after Before's error") }
	if err := broken(t, o, nothing); !errors.Is(err, stop) {
		t.Errorf("error %v, want Before's", err)
	}
}

var demoOnce = sync.OnceValues(func() (*Model, error) { return Options{}.OpenFS(demo.FS()) })

func openDemo(t testing.TB) *Model {
	t.Helper()
	m, err := demoOnce()
	if err != nil || m.NoEncoder != nil {
		t.Fatal(err, m.NoEncoder)
	}
	return m
}

func TestTheDemoTellsItsStoryFromText(t *testing.T) {
	m := openDemo(t)
	prompt, err := m.Encoder.Encode("Once upon a time, there")
	if err != nil {
		t.Fatal(err)
	}
	var ids []int
	for id, err := range m.Generate(context.Background(), prompt, 5, nil) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	text, err := m.Encoder.Decode(ids)
	if want := []int{373, 257, 1310, 2576, 3706}; err != nil || !slices.Equal(ids, want) ||
		text != " was a little girl named" {
		t.Errorf("%v, %q, %v, want %v", ids, text, err, want)
	}
}

func TestGenerationEndsWithWhatStopsIt(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	m := &Model{HParams: hp, Params: p}
	last := func(ctx context.Context, n int, choose func([]float64) (int, error)) (k int, err error) {
		var id int
		for id, err = range m.Generate(ctx, make([]int, 20), n, choose) {
			if k++; err == nil && choose != nil && id != 7 {
				t.Errorf("token %d, want what was chosen", id)
			}
		}
		return k, err
	}
	if n, err := last(context.Background(), 4, func([]float64) (int, error) { return 7, nil }); n != 4 ||
		err != nil {
		t.Errorf("%d tokens, %v", n, err)
	}
	if n, err := last(context.Background(), 5, nil); n != 1 || err == nil ||
		!strings.Contains(err.Error(), "20 tokens and 5 new ones") {
		t.Errorf("beyond the context: %d, %v", n, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n, err := last(ctx, 4, func([]float64) (int, error) { cancel(); return 7, nil })
	if n != 2 || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %d, %v", n, err)
	}
}

// Hugging Face's loop, from huggingface.co/docs/transformers/perplexity, in its own terms.
func TestPerplexityIsHuggingFacesLoop(t *testing.T) {
	g := goldens(t)[0]
	p, hp := load(t, g.Config, g.File)
	m := &Model{HParams: hp, Params: p}
	ids := make([]int, 50)
	for i := range ids {
		ids[i] = i * i % hp.Vocab
	}
	for _, c := range [][3]int{{50, 23, 23}, {50, 23, 10}, {47, 16, 16}, {33, 16, 5}, {2, 23, 23}} {
		seqLen, maxLength, stride := c[0], c[1], c[2]
		nllSum, nTokens, prevEnd := 0.0, 0, 0
		for begin := 0; begin < seqLen; begin += stride {
			end := min(begin+maxLength, seqLen)
			trgLen := end - prevEnd
			logits, err := GPT2(ids[begin:end], p, hp)
			if err != nil {
				t.Fatal(err)
			}
			probs := softmax(logits)
			loss, labels := 0.0, 0
			for i := begin + 1; i < end; i++ {
				if i >= end-trgLen {
					loss -= math.Log(probs.Row(i - 1 - begin)[ids[i]])
					labels++
				}
			}
			if labels > 0 {
				nllSum += loss / float64(labels) * float64(trgLen-1)
				nTokens += trgLen - 1
			}
			if prevEnd = end; end == seqLen {
				break
			}
		}
		want := nllSum / float64(nTokens)
		s, err := m.Perplexity(context.Background(), ids[:seqLen], maxLength, stride, nil)
		if err != nil || math.Abs(s.NLL-want) > 1e-12 || s.Scored != nTokens {
			t.Errorf("%v: %+v, %v, want %v of %d", c, s, err, want, nTokens)
		}
	}
	for want, c := range map[string][3]int{
		"window: 24": {5, 24, 1}, "stride: 9": {5, 8, 9}, "text: 1 tokens": {1, 0, 0},
	} {
		_, err := m.Perplexity(context.Background(), ids[:c[0]], c[1], c[2], nil)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
