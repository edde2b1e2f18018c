package inside_test

// The circuit of indirect object identification, beside the closed-form answers of a model in which
// its three groups of heads are written by hand.

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// Texts of names a, b and c: bos and the first two, in any order, another token, the third, the end.
func ioi(first, second, third int) []int {
	return []int{0, first, second, 9, third, testmodel.IOIEnd}
}

const a, b, c = 3, 5, 8 // names

// ioiScale is what ln_f makes of another stream than that of a right answer.
func ioiScale(sum, squares float64, stream ...float64) float64 {
	deviation := func(sum, squares float64) float64 {
		return math.Sqrt(squares/testmodel.IOIEmbd - sum/testmodel.IOIEmbd*(sum/testmodel.IOIEmbd) + 1e-5)
	}
	ownSum, ownSquares := 0.0, 0.0
	for _, x := range stream {
		ownSum, ownSquares = ownSum+x, ownSquares+x*x
	}
	return deviation(sum, squares) / deviation(ownSum, ownSquares)
}

func TestTheIOIModelIsAsItSays(t *testing.T) {
	for _, kernel := range kernels.Variants() {
		m := testmodel.IOI(t, model.Options{Threads: 2, Kernel: kernel})
		for _, ids := range [][]int{ioi(a, b, b), ioi(b, a, b), ioi(a, b, a), ioi(a, b, c)} {
			looks := map[string][]float32{} // of the last two tokens
			heads(t, m, ids, inside.HeadsOptions{Pattern: func(layer, at int, w []float32) {
				for h := range 2 {
					name := fmt.Sprintf("%d.%d at %d", layer, h, at)
					looks[name] = slices.Clone(w[h*(at+1) : (h+1)*(at+1)])
				}
			}})
			seen, unseen := slices.Index(ids[:4], ids[4]), []int{1, 2, 4}
			moved := unseen
			hidden := 4
			if seen < 0 { // none has been there before
				seen, hidden = 0, 0
			} else {
				moved = []int{3 - seen}
			}
			for name, at := range map[string][]int{"0.0 at 4": {seen}, "0.0 at 3": {0},
				"0.1 at 4": {0, 1, 2, 3, 4}, "1.0 at 5": {hidden}, "1.0 at 4": {0}, "2.0 at 4": {0},
				"2.0 at 5": moved, "2.1 at 5": moved} {
				for j, w := range looks[name] {
					want := 0.0
					if slices.Contains(at, j) {
						want = 1 / float64(len(at))
					}
					near(t, fmt.Sprintf("%s: %v: head %s: token %d", kernel, ids, name, j), float64(w),
						want, 1e-7)
				}
			}
			s := m.NewSession()
			if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids}); err != nil {
				t.Fatal(err)
			}
			for id, x := range s.Logits() {
				want := 0.0
				for _, at := range moved {
					if ids[at] == id {
						want += 2 / float64(len(moved))
					}
				}
				if id == testmodel.IOIEnd {
					want++
				}
				if len(moved) > 1 {
					want = (want-6./68)*ioiScale(6, 8, 1, 1, 1, 1, 2./3, 2./3, 2./3) + 6./68
				}
				near(t, fmt.Sprintf("%v: logit of %d", ids, id), float64(x), want, 1e-5)
			}
		}
	}
}

// Name movers and the negative one write all of the difference. Their weights copy, and uncopy. The
// S-inhibition head is read by their queries, the duplicate token head by its keys.
func TestTheIOIModelsGroupsAreFound(t *testing.T) {
	m, other := testmodel.IOI(t, model.Options{}), b
	made := attribute(t, m, ioi(a, b, b), inside.Metric{Target: a, Against: &other})
	near(t, "difference", made.Difference, 2, 1e-5)
	for _, part := range made.Parts {
		want := map[string]float64{"head 2.0": 3, "head 2.1": -1}[part.Name]
		near(t, part.Name, part.Value, want, 1e-5)
	}
	for head, copying := range map[[2]int]float64{{2, 0}: 1, {2, 1}: -1, {0, 0}: 0, {1, 0}: 0} {
		found := circuit(t, m, head[0], head[1], inside.CircuitOptions{})
		if head[0] == 2 {
			near(t, fmt.Sprintf("copying of %v", head), found.Copying, copying, 1e-6)
		}
		for _, r := range found.Composition {
			if r.Layer > head[0] {
				continue // which reads it
			}
			strong := [3]bool{} // q, k, v
			switch {
			case r.Head == 1 && r.Layer < 2: // idle
			case head == [2]int{1, 0}:
				strong[1] = true
			case head[0] == 2 && r.Layer == 1:
				strong[0] = true
			}
			for i, x := range []float64{r.Q, r.K, r.V} {
				if strong[i] != (x > .15) {
					t.Errorf("head %v reads %d.%d: q, k, v %v", head, r.Layer, r.Head,
						[]float64{r.Q, r.K, r.V})
				}
			}
		}
	}
}

// From the text with the other answer, what matters is where the end's stream says whom not to name.
func TestPatchingOfTheIOIModel(t *testing.T) {
	m, other := testmodel.IOI(t, model.Options{}), b
	q := inside.Metric{Target: a, Against: &other}
	const rest = 1 // of each other one-hot vector at the end
	// with the name mover's query of the clean text it writes a, and the negative one b
	apart := ioiScale(6, 8, rest, rest, rest, rest, 3, -1)
	for kind, want := range map[model.Kind]map[[2]int]float64{
		model.Z:     {{1, 0}: 1, {2, 0}: (4*apart + 2) / 4, {2, 1}: (-4*apart + 2) / 4},
		model.Query: {{2, 0}: (4*apart + 2) / 4, {2, 1}: (-4*apart + 2) / 4},
		model.Value: {{1, 0}: 1},
		// with the key of b, the third name, a, is not hidden: half of what is written is its
		model.Key: {{2, 0}: (1*ioiScale(6, 8, rest, rest, rest, rest, 1.5, .5) + 2) / 4,
			{2, 1}: (-3*ioiScale(6, 8, rest, rest, rest, rest, -.5, 2.5) + 2) / 4},
		model.ResidPre: {{0, 4}: 1, {1, 4}: 1, {2, 5}: 1},
		model.AttnOut:  {{1, 5}: 1, {2, 5}: 1},
		model.MLPOut:   {},
	} {
		table := patch(t, m, ioi(a, b, b), ioi(a, b, a), q, inside.PatchOptions{At: kind})
		near(t, "clean", table.Clean, 2, 1e-5)
		near(t, "corrupted", table.Corrupted, -2, 1e-5)
		for layer, row := range table.Share {
			for i, share := range row {
				near(t, fmt.Sprintf("kind %d: %d.%d", kind, layer, i), share, want[[2]int{layer, i}], 2e-5)
			}
		}
	}
}

// Without the S-inhibition head, or the duplicate token head, name movers take all names alike.
func TestAblationOfTheIOIModel(t *testing.T) {
	m, other := testmodel.IOI(t, model.Options{}), b
	effects := ablate(t, m, ioi(a, b, b), inside.Metric{Target: a, Against: &other},
		inside.AblateOptions{})
	near(t, "difference", effects.Difference, 2, 1e-5)
	// The stream before layer 2 is without one of its four ones: each 1 becomes gain, and everything
	// more by offset. A third of what the heads write is a's, two thirds are b's.
	gain := ioiScale(4, 4, 1, 1, 1)
	offset := 4./68 - 3./68*gain
	stream := []float64{1, 1, 2*gain/3 + 2*offset, 4*gain/3 + 2*offset, 1 + 2*offset}
	for range testmodel.IOIVocab - 3 {
		stream = append(stream, 2*offset)
	}
	all := -2. / 3 * gain * ioiScale(6, 8, stream...)
	want := map[string]float64{"head 1.0": all, "attn 1": all,
		"head 2.0": -ioiScale(6, 8, 1, 1, 1, 1, -1), "head 2.1": 3 * ioiScale(6, 8, 1, 1, 1, 1, 3)}
	for _, part := range effects.Parts {
		value, known := want[part.Name]
		switch part.Name {
		case "head 0.0", "attn 0":
			if !(part.Value < -.5) {
				t.Errorf("%s: %v, want the name that is there twice", part.Name, part.Value)
			}
			continue
		case "attn 2":
			known = true
		}
		if !known {
			value = 2
		}
		near(t, part.Name, part.Value, value, 1e-5)
	}
}

// alongNorm returns what a LayerNorm makes of a small change of a stream, for which its gain is.
func alongNorm(stream, change []float64) []float64 {
	mean, changes, squares, along, n := 0.0, 0.0, 0.0, 0.0, float64(len(stream))
	for i, x := range stream {
		mean, changes = mean+x/n, changes+change[i]/n
	}
	for i, x := range stream {
		squares += (x - mean) * (x - mean)
		along += (x - mean) * change[i]
	}
	y := make([]float64, len(stream))
	for i, x := range stream {
		y[i] = change[i] - changes - (x-mean)*along/(squares+n*1e-5)
	}
	return y
}

// Edges to the logits are what heads write, through ln_f. Gradients pass no softmax that has chosen:
// of what heads read nothing but the values of head 1.0 goes on, to ln_f, which divides by it too.
func TestEdgesOfTheIOIModel(t *testing.T) {
	const embd, hidden = testmodel.IOIEmbd, 2*testmodel.IOIVocab + 2
	m, other := testmodel.IOI(t, model.Options{}), b
	e, err := inside.Edges(context.Background(), m, ioi(a, b, b), ioi(a, b, a),
		inside.Metric{Target: a, Against: &other}, inside.EdgesOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one := func(ids ...int) []float64 { // a stream of ones
		x := make([]float64, embd)
		for _, id := range ids {
			x[id]++
		}
		return x
	}
	change := func(to, from, times int) []float64 {
		x := make([]float64, embd)
		x[to], x[from] = float64(times), float64(-times)
		return x
	}
	const position, plain = testmodel.IOIVocab, 2*testmodel.IOIVocab + 1
	end := one(testmodel.IOIEnd, position+5, plain, hidden+a, b, b) // of the corrupted text
	metric := func(change []float64) float64 { y := alongNorm(end, change); return y[a] - y[b] }
	value := make([]float64, embd) // what head 1.0 writes of the third name
	third := alongNorm(one(a, position+4, plain-1), change(b, a, 1))
	copy(value[hidden:], third[:testmodel.IOIVocab])
	want := map[string]float64{"head 2.0 -> logits": metric(change(a, b, 3)),
		"head 2.1 -> logits": metric(change(a, b, -1)), "embed -> head 1.0 v": metric(value),
		"head 1.0 -> logits": metric(change(hidden+b, hidden+a, 1))}
	for i, row := range e.Scores {
		for j, score := range row {
			name := e.Senders[j] + " -> " + e.Receivers[i]
			near(t, name, score, want[name], 2e-5)
		}
	}
}
