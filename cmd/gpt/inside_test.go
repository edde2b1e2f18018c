package main

// What commands say of the inside of the demo, beside float64.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/inside"
	"picogpt/internal/torch"
	"picogpt/weights"
)

// insideAnswers returns the answers of float64, and a function that runs the command and reads its
// JSON.
func insideAnswers(t *testing.T) (*fixture.InsideAnswers, func(into any, args ...string)) {
	want, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	gpt := gpt(t)
	return want, func(into any, args ...string) {
		t.Helper()
		if err := json.Unmarshal([]byte(gpt(args...)), into); err != nil {
			t.Fatal(err)
		}
	}
}

func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > within {
		t.Errorf("%s: %v, want %v within %v", what, got, want, within)
	}
}

func TestLensOfTheCommandIsThatOfFloat64(t *testing.T) {
	cases.NotShort(t)
	want, gpt := insideAnswers(t)
	const ranks = 50257 * 1e-3
	for i, tokens := range want.IDs {
		var got inside.LensTable
		gpt(&got, "lens", "--json", "--tokens", ids(tokens), "--target", fmt.Sprint(want.A))
		if len(got.Layers) != len(want.Lens[i]) || *got.Target != want.A {
			t.Fatalf("%d layers, target %d", len(got.Layers), *got.Target)
		}
		for layer, row := range want.Lens[i] {
			if len(got.Layers[layer]) != len(row) {
				t.Fatalf("layer %d: %d tokens, want %d", layer, len(got.Layers[layer]), len(row))
			}
			for at, w := range row {
				g, what := got.Layers[layer][at], fmt.Sprintf("layer %d, token %d: ", layer, at)
				for k, p := range w.P {
					near(t, what+"p", g.P[k], p, 1e-3)
					if w.P[0]-w.P[1] > 2e-3 && g.Top[0] != w.Top[0] {
						t.Errorf("%stop %v, want %v", what, g.Top, w.Top)
					}
				}
				near(t, what+"entropy", g.Entropy, w.Entropy, 1e-3)
				near(t, what+"kl", g.KL, w.KL, 1e-3)
				near(t, what+"rank", float64(*g.Rank), float64(w.RankOfA), ranks)
			}
		}
		// One position is the same column.
		var one inside.LensTable
		gpt(&one, "lens", "--json", "--tokens", ids(tokens), "--at", "-2")
		at := len(tokens) - 2
		if one.From != at || len(one.Tokens) != at+1 || len(one.Layers[3]) != 1 ||
			one.Layers[3][0].Entropy != got.Layers[3][at].Entropy {
			t.Errorf("--at -2: from %d, %d tokens", one.From, len(one.Tokens))
		}
	}
}

func TestAttributionOfTheCommandIsThatOfFloat64(t *testing.T) {
	want, gpt := insideAnswers(t)
	var got inside.Attribution
	gpt(&got, "attribute", "--json", "--tokens", ids(want.IDs[0]), "--target", fmt.Sprint(want.A),
		"--against", fmt.Sprint(want.B))
	near(t, "difference", got.Difference, want.Attribution.Difference, 1e-3)
	near(t, "sum", got.Sum, got.Difference, 1e-4)
	if got.Target != want.A || *got.Against != want.B || len(got.Parts) != len(want.Attribution.Parts) {
		t.Errorf("%d parts of %d against %d", len(got.Parts), got.Target, *got.Against)
	}
	for name, value := range want.Attribution.Parts {
		part, _ := got.Parts.Value(name)
		near(t, name, part, value, 1e-3)
	}
	// Without --target it is the likeliest token, and --at takes what follows another one.
	var first, other inside.Attribution
	gpt(&first, "attribute", "--json", "--tokens", ids(want.IDs[0][:5]))
	gpt(&other, "attribute", "--json", "--tokens", ids(want.IDs[0]), "--at", "4")
	last := len(want.Lens[0]) - 1
	if likeliest := want.Lens[0][last][4].Top[0]; first.Target != likeliest || first.Against != nil ||
		other.Target != likeliest || other.Difference != first.Difference {
		t.Errorf("targets %d and %d, want %d", first.Target, other.Target, likeliest)
	}
}

// A tuned lens of zeros changes nothing, and one with a bias every layer but the last, which it
// does not have.
func TestTunedLensOfTheCommand(t *testing.T) {
	_, gpt := insideAnswers(t)
	const layers, embd = 4, 128
	lens := func(bias byte) (table inside.LensTable) {
		dir, dict := t.TempDir(), torch.Members{}
		for i := range layers {
			zeros := make([]byte, 4*embd*embd)
			values := make([]byte, 4*embd)
			values[3] = bias // the sign and the exponent of the first
			for name, x := range map[string]weights.Tensor{
				"weight": {Shape: []int{embd, embd}, Data: zeros}, "bias": {Shape: []int{embd}, Data: values},
			} {
				x.Name, x.DType = fmt.Sprintf("%d.%s", i, name), weights.F32
				dict = append(dict, torch.Member{Key: x.Name, Value: x})
			}
		}
		var params bytes.Buffer
		config := fmt.Sprintf(`{"d_model": %d, "num_hidden_layers": %d}`, embd, layers)
		if err := errors.Join(torch.Write(&params, dict),
			os.WriteFile(filepath.Join(dir, "params.pt"), params.Bytes(), 0o666),
			os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o666)); err != nil {
			t.Fatal(err)
		}
		gpt(&table, "lens", "--json", "--tokens", "464,3797", "--tuned", dir)
		return table
	}
	var plain inside.LensTable
	gpt(&plain, "lens", "--json", "--tokens", "464,3797")
	if zeros := lens(0); !reflect.DeepEqual(zeros, plain) {
		t.Error("zeros change the lens")
	}
	other := lens(0x42)
	for i, row := range other.Layers {
		if same := reflect.DeepEqual(row, plain.Layers[i]); same != (i == layers) {
			t.Errorf("layer %d: the same is %v", i, same)
		}
	}
}
