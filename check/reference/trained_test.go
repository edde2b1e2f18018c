// The oracle on trained checkpoints: the demo's stories, and a sorter whose authors kept every
// intermediate value.
package reference

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/weights"
	"picogpt/weights/demo"
)

func TestDemoTellsPyTorchsStory(t *testing.T) {
	cases.NotShort(t)
	p, hp := load(t, demo.Config(), demo.Weights())
	stories, err := fixture.TinyStories()
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range stories.Greedy[:cases.Of(1, 2)] {
		n := cases.Of(8, 12) // every token recomputes all before it
		ids, err := Generate(g.PromptIDs, p, hp, n)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(ids, g.IDs[:n]) {
			t.Errorf("%q is followed by %v, want %v", g.Prompt, ids, g.IDs[:n])
		}
	}
	for _, l := range stories.Last {
		if len(l.Tokens) > 200 && !cases.Long {
			continue
		}
		logits, err := GPT2(l.Tokens, p, hp)
		if err != nil {
			t.Fatal(err)
		}
		want := make([]float64, len(l.Logits))
		for i, v := range l.Logits {
			want[i] = float64(v)
		}
		// The answers were rounded to float32, which errs by 2^-24 of each.
		if diff, size := apart(logits.Row(len(l.Tokens)-1), want); diff > 1e-7*size {
			t.Errorf("%d tokens: logits off by %.3g of %.3g", len(l.Tokens), diff, size)
		}
	}
}

const nanoSort = "../../../shared/models/nano-sort"

// openNanoSort skips where the third-party checkpoint is absent; TestEveryStepIsPyTorchs is the
// twin that needs none.
func openNanoSort(t *testing.T) (*Params, HParams) {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(nanoSort, "config.json"))
	if err != nil {
		t.Skipf("nano-sort is not beside the project: %v", err)
	}
	file, err := os.ReadFile(filepath.Join(nanoSort, "model.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	return load(t, config, file)
}

func TestNanoSortsIntermediateValues(t *testing.T) {
	p, hp := openNanoSort(t)
	f, err := weights.Open(os.DirFS(nanoSort), "partials.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	get := fixture.Tensors64(f)
	names := map[string]string{"x": "x", "ln_f": "ln_f", "h.0.block": "block0",
		"h.1.block": "block1", "h.2.block": "block2"}
	for _, s := range []string{"ln1", "q", "k", "v", "attSm", "yProj", "attnResid", "ln2", "fc",
		"gelu", "mlp"} {
		names["h.0."+s] = s
	}
	idx, _, _ := get("idx") // [3, 11]
	for row := range 3 {
		of := func(name string) []float64 { // partials are [3, ...]
			data, shape, ok := get(name)
			if !ok || shape[0] != 3 {
				t.Fatalf("partial %s: shape %v, want [3 ...]", name, shape)
			}
			n := len(data) / 3
			return data[row*n : (row+1)*n]
		}
		ids := make([]int, 11)
		for i := range ids {
			ids[i] = int(idx[row*11+i])
		}
		checkSteps(t, ids, p, hp, 1e-5, func(name string) []float64 {
			if names[name] == "" {
				return nil
			}
			return of(names[name])
		})
		logits, err := GPT2(ids, p, hp)
		if err != nil {
			t.Fatal(err)
		}
		if diff, size := apart(logits.Data, of("lm_head")); diff > 1e-5*size {
			t.Errorf("lm_head: off by %.3g of %.3g", diff, size)
		}
		if diff, _ := apart(softmax(logits).Data, of("probs")); diff > 1e-5 {
			t.Errorf("probs: off by %.3g", diff)
		}
	}
}

func TestNanoSortSortsEverything(t *testing.T) {
	step := 11
	if cases.Long {
		step = 1
	}
	p, hp := openNanoSort(t)
	for n := 0; n < 729; n += step {
		ids := make([]int, 6)
		for i, d := 0, n; i < 6; i, d = i+1, d/3 {
			ids[i] = d % 3
		}
		got, err := Generate(ids, p, hp, 6)
		if err != nil {
			t.Fatal(err)
		}
		want := slices.Sorted(slices.Values(ids))
		if !slices.Equal(got, want) {
			t.Errorf("%v sorts to %v, want %v", ids, got, want)
		}
	}
}

// Six ids of "Once upon a time, there" from the demo checkpoint, and the greedy continuation.
func ExampleGenerate() {
	hp, err := ParseHParams(demo.Config())
	if err != nil {
		panic(err)
	}
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		panic(err)
	}
	p, err := FromTensors(hp, fixture.Tensors64(f))
	if err != nil {
		panic(err)
	}
	ids, err := Generate([]int{7454, 2402, 257, 640, 11, 612}, p, hp, 5)
	fmt.Println(ids, err)
	// Output: [373 257 1310 2576 3706] <nil>
}
