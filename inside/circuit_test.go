package inside_test

// Circuits beside those of TransformerLens in float64 (dev/fixture/testdata/make_circuits.py), of
// quantized weights, of a head that copies, and to the last bit.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// circuitAnswers are TransformerLens's of a head.
type circuitAnswers struct {
	Copying     float64
	Eigenvalues [][2]float64
	OV, QK      [][]float64
	OVSVD       svdAnswers                    `json:"ov_svd"`
	QKSVD       svdAnswers                    `json:"qk_svd"`
	Composition struct{ Q, K, V [][]float64 } // by layers and heads before
}

type svdAnswers struct {
	S    []float64
	U, V [][]float64
}

func circuit(
	t testing.TB, m *model.Model, layer, head int, o inside.CircuitOptions,
) *inside.Circuit {
	t.Helper()
	c, err := inside.ReadCircuit(context.Background(), m, layer, head, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestCircuitsAreTransformerLenss(t *testing.T) {
	b, err := os.ReadFile("../dev/fixture/testdata/circuits.json")
	if err != nil {
		t.Fatal(err)
	}
	var want []circuitAnswers
	if err := json.Unmarshal(b, &want); err != nil {
		t.Fatal(err)
	}
	m := gradientModel(t, "gelu_new", model.Options{Threads: 2})
	layers, heads := m.Config().Layer, m.Config().Head
	for i, w := range want {
		layer, head := i/heads, i%heads
		what := fmt.Sprintf("head %d.%d: ", layer, head)
		c := circuit(t, m, layer, head, inside.CircuitOptions{Pairs: 50, Vectors: 9, Top: 3})
		near(t, what+"copying", c.Copying, w.Copying, 1e-7)
		if len(c.Eigenvalues) != len(w.Eigenvalues) {
			t.Fatalf("%s%d eigenvalues, want %d", what, len(c.Eigenvalues), len(w.Eigenvalues))
		}
		order := func(v, w [2]float64) int { // that of pairs, whose real parts are rounded
			if d := w[0] - v[0]; math.Abs(d) > 1e-5 {
				return cmp.Compare(d, 0)
			}
			return cmp.Compare(w[1], v[1])
		}
		slices.SortFunc(w.Eigenvalues, order)
		slices.SortFunc(c.Eigenvalues, order)
		for j, v := range c.Eigenvalues {
			near(t, what+"real part", v[0], w.Eigenvalues[j][0], 1e-6)
			near(t, what+"imaginary part", v[1], w.Eigenvalues[j][1], 1e-6)
		}
		testPairs(t, what+"OV: ", c.OV.Pairs, w.OV)
		testPairs(t, what+"QK: ", c.QK.Pairs, w.QK)
		testVectors(t, what+"OV: ", c.OV, w.OVSVD)
		testVectors(t, what+"QK: ", c.QK, w.QKSVD)
		if len(c.Composition) != (layers-1)*heads {
			t.Fatalf("%s%d other heads", what, len(c.Composition))
		}
		for _, r := range c.Composition {
			if r.Layer > layer { // as the other head sees it
				other := circuit(t, m, r.Layer, r.Head, inside.CircuitOptions{}).Composition[i]
				if r.Q != other.Q || r.K != other.K || r.V != other.V {
					t.Errorf("%swrites %v, which the other reads as %v", what, r, other)
				}
				continue
			}
			one := func(name string, got float64, all [][]float64) {
				near(t, fmt.Sprintf("%sreads %d.%d by %s", what, r.Layer, r.Head, name), got,
					all[r.Layer][r.Head], 1e-7)
			}
			one("q", r.Q, w.Composition.Q)
			one("k", r.K, w.Composition.K)
			one("v", r.V, w.Composition.V)
		}
	}
}

// testPairs compares pairs with the greatest elements of a matrix, whose numbers all differ.
func testPairs(t *testing.T, what string, got []inside.TokenPair, of [][]float64) {
	t.Helper()
	var want []inside.TokenPair
	for from, row := range of {
		for to, v := range row {
			want = append(want, inside.TokenPair{From: from, To: to, Value: v})
		}
	}
	slices.SortFunc(want, func(p, q inside.TokenPair) int { return cmp.Compare(q.Value, p.Value) })
	if len(got) != 50 {
		t.Fatalf("%s%d pairs", what, len(got))
	}
	for i, p := range got {
		if p.From != want[i].From || p.To != want[i].To {
			t.Errorf("%spair %d: %v, want %v", what, i, p, want[i])
		}
		near(t, what+"value", p.Value, want[i].Value, 1e-6*want[0].Value)
	}
}

// testVectors compares singular values and vectors, up to the sign of a pair of these.
func testVectors(t *testing.T, what string, got inside.CircuitMatrix, want svdAnswers) {
	t.Helper()
	if len(got.Singular) != len(want.S) || len(got.Vectors) != len(want.S) {
		t.Fatalf("%s%d values, %d vectors, want %d", what, len(got.Singular), len(got.Vectors),
			len(want.S))
	}
	for i, s := range got.Singular {
		near(t, what+"singular value", s, want.S[i], 1e-7*want.S[0])
		sign, v := 1.0, got.Vectors[i]
		if v.Left[0]*want.U[i][0] < 0 {
			sign = -1
		}
		for j := range v.Left {
			near(t, what+"left", v.Left[j], sign*want.U[i][j], 1e-6)
			near(t, what+"right", v.Right[j], sign*want.V[i][j], 1e-6)
		}
		if len(v.LeftTop) != 3 || len(v.RightTop) != 3 {
			t.Errorf("%s%d and %d tokens of a vector, want 3", what, len(v.LeftTop), len(v.RightTop))
		}
	}
}

// The circuits of q8 are those of its numbers in float32. In float32 nothing depends on threads and
// kernels, and more pairs begin with the same.
func TestCircuitsOfFormatsAndKernels(t *testing.T) {
	o := inside.CircuitOptions{Pairs: 30, Vectors: 2}
	for _, format := range []string{"q8", "q4", "f16"} {
		m := gradientModel(t, "gelu", model.Options{Format: format})
		if got, want := circuit(t, m, 1, 2, o), circuit(t, widened(t, m), 1, 2, o); !reflect.DeepEqual(
			got, want) {
			t.Errorf("%s: %v, want %v", format, got, want)
		}
	}
	config, file := fixture.Checkpoint(fixture.Options{Vocab: 1000, Embd: 30, Untied: true})
	var first *inside.Circuit
	for i, kernel := range kernels.Variants() {
		m := testmodel.New(t, config, file, model.Options{Threads: 1 + 6*(i%2), Kernel: kernel})
		c := circuit(t, m, 1, 0, o)
		if first == nil {
			first = c
		}
		if !reflect.DeepEqual(c, first) {
			t.Errorf("%s has another circuit than %s", kernel, kernels.Variants()[0])
		}
	}
	m := testmodel.New(t, config, file, model.Options{})
	o.Pairs = 100
	if more := circuit(t, m, 1, 0, o); !slices.Equal(more.OV.Pairs[:30], first.OV.Pairs) ||
		!slices.Equal(more.QK.Pairs[:30], first.QK.Pairs) {
		t.Error("100 pairs begin with others than 30")
	}
}

// Head 1.0 of the induction model adds 3 to the logit of the token that it looks at, less the mean
// of all: with one-hot embeddings [w] of n tokens, E·OV·U is 3·g·g'(1 − 1/n), where g and g' are the
// gains of its LayerNorms. It looks at tokens whose second vector is its own token: keys of tokens
// alone are nothing. What head 0.0 writes there is all of what its keys read.
func TestCircuitsOfTheInductionModel(t *testing.T) {
	m := testmodel.Induction(t, model.Options{})
	gain := func(sum, squares float64) float64 {
		const n = 2*testmodel.InductionVocab + testmodel.InductionPositions
		return float64(float32(math.Sqrt(squares/n - sum/n*(sum/n) + 1e-5)))
	}
	const n = testmodel.InductionVocab
	c := circuit(t, m, 1, 0, inside.CircuitOptions{Pairs: n * n, Vectors: 1, Top: n})
	size := 3 * gain(3, 3) * gain(6, 12)
	if len(c.OV.Pairs) != n*n || len(c.QK.Pairs) != n*n {
		t.Fatalf("%d and %d pairs", len(c.OV.Pairs), len(c.QK.Pairs))
	}
	// The means that LayerNorms take away are the same for each token. So they move nothing but the
	// mean over the vocabulary, which is taken away too.
	for i, p := range c.OV.Pairs {
		want := -size / n
		if i < n {
			want += size
			if p.From != p.To {
				t.Errorf("pair %d of OV: %v", i, p)
			}
		}
		near(t, "OV", p.Value, want, 1e-6)
	}
	for i, v := range c.Eigenvalues { // n−1 that are alike, and zeros
		want := size
		if i >= n-1 {
			want = 0
		}
		near(t, "eigenvalue", v[0], want, 1e-6)
		near(t, "eigenvalue", v[1], 0, 1e-6)
	}
	near(t, "copying", c.Copying, 1, 1e-6)
	for i := range n - 1 {
		near(t, "singular value", c.OV.Singular[i], 3*gain(3, 3), 1e-6)
	}
	if c := circuit(t, m, 1, 1, inside.CircuitOptions{Vectors: 1}); c.Copying != 0 ||
		c.OV.Singular[0] != 0 || c.Composition[0] != (inside.Composition{}) {
		t.Errorf("the idle head: %+v", c)
	}
	k, v := c.Composition[0].K, c.Composition[0].V
	if idle := c.Composition[1]; idle.Q != 0 || idle.K != 0 || idle.V != 0 || !(k > 0.2) || !(k > 2*v) {
		t.Errorf("head 1.0 reads %+v", c.Composition)
	}
}

func TestReadCircuitRefuses(t *testing.T) {
	m := gradientModel(t, "gelu", model.Options{})
	for want, at := range map[string][2]int{"head 2.0: want layer 0 to 1, head 0 to 2": {2, 0},
		"head 0.3: want layer": {0, 3}, "head -1.0": {-1, 0}, "head 0.-1": {0, -1}} {
		_, err := inside.ReadCircuit(context.Background(), m, at[0], at[1], inside.CircuitOptions{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	_, err := inside.ReadCircuit(t.Context(), m, 0, 0, inside.CircuitOptions{Pairs: math.MaxInt})
	if err == nil || !strings.HasSuffix(err.Error(), "pairs of tokens, want at most 1048576") {
		t.Errorf("all pairs: %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = inside.ReadCircuit(ctx, m, 0, 0, inside.CircuitOptions{Pairs: 1})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	config, file := fixture.Checkpoint(fixture.Options{})
	at := bytes.Index(file, []byte(`"h.1.attn.c_attn.weight"`))
	if at < 0 {
		t.Fatal("no such tensor")
	}
	var head map[string]struct {
		Offsets []int `json:"data_offsets"`
	}
	length := int(file[0]) | int(file[1])<<8 | int(file[2])<<16
	if err := json.Unmarshal(file[8:8+length], &head); err != nil {
		t.Fatal(err)
	}
	from := 8 + length + head["h.1.attn.c_attn.weight"].Offsets[0]
	copy(file[from:], []byte{0, 0, 0xc0, 0x7f}) // a NaN
	m = testmodel.New(t, config, file, model.Options{})
	_, err = inside.ReadCircuit(context.Background(), m, 1, 0, inside.CircuitOptions{})
	if !errors.Is(err, inside.ErrNonFinite) {
		t.Errorf("a NaN: %v", err)
	}
}
