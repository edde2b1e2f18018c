package inside

// Head scores: where each head of attention looks.

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"

	"picogpt/kernels"
	"picogpt/model"
)

// HeadsOptions say what Heads reads. The zero value takes all tokens but the first.
type HeadsOptions struct {
	From int // the scores are means over tokens[From:]; 0 means 1

	// Pattern, if not nil, is called with the attention weights [n_head, position+1] of each layer
	// and position, under the rules of model.Input.Visit.
	Pattern func(layer, position int, weights []float32)

	Detect *Detector // nil, or what HeadScore.Match is of, for all tokens
}

// A HeadTable holds what each head does with a text.
type HeadTable struct {
	Tokens  []int       `json:"tokens"`
	From    int         `json:"from"`    // the first position that counts
	Repeats int         `json:"repeats"` // how many tokens from there on occur before
	Heads   []HeadScore `json:"heads"`   // [n_layer·n_head], layer by layer
}

// A HeadScore says where a head looks: means over the tokens at the positions t from
// HeadTable.From on. A weight is a share of what the head reads, from 0 to 1.
type HeadScore struct {
	Layer int `json:"layer"`
	Head  int `json:"head"`

	Previous float64 `json:"previous"` // the weight at t−1
	First    float64 `json:"first"`    // at 0
	Self     float64 `json:"self"`     // at t

	// Means over the tokens that occur before t: the weight of all earlier equal tokens, and of the
	// tokens after them. In a text [bos, r, r] of n different ids these are the weights at t−n and
	// t−n+1. Nil if no token occurs twice.
	Duplicate *float64 `json:"duplicate"`
	Induction *float64 `json:"induction"`

	Entropy  float64 `json:"entropy"`  // −Σ w ln w, nats
	Distance float64 `json:"distance"` // Σ w·(t−j) over the positions j, in tokens

	Match *float64 `json:"match,omitempty"` // how much the head looks as HeadsOptions.Detect says
}

// Heads computes the scores of all heads for a text of two tokens or more. It holds a few numbers
// for each head and token, not the weights. Weights that are not finite are an error, ErrNonFinite.
// Induction is that of Olsson et al., "In-context Learning and Induction Heads", 2022; the others
// are those of TransformerLens.
func Heads(
	ctx context.Context, m *model.Model, tokens []int, o HeadsOptions,
) (*HeadTable, error) {
	if err := checkText(m, tokens); err != nil {
		return nil, err
	}
	if len(tokens) == 1 {
		return nil, fmt.Errorf("heads: 1 token, want at least 2")
	}
	if o.From == 0 {
		o.From = 1
	}
	if o.From < 0 || o.From >= len(tokens) {
		return nil, fmt.Errorf("heads: from position %d, want 1 to %d", o.From, len(tokens)-1)
	}
	var matches []match // [tokens, n_layer, n_head]
	c := m.Config()
	if o.Detect != nil {
		if err := o.Detect.check(len(tokens)); err != nil {
			return nil, fmt.Errorf("heads: %w", err)
		}
		matches = make([]match, len(tokens)*c.Layer*c.Head)
	}
	all := make([]looks, len(tokens)*c.Layer*c.Head) // [tokens, n_layer, n_head]
	read := func(r model.Reading) {
		if o.Pattern != nil {
			o.Pattern(r.At.Layer, r.Index, r.Data)
		}
		t := r.Index + 1
		for h := range c.Head {
			at, weights := (r.Index*c.Layer+r.At.Layer)*c.Head+h, r.Data[h*t:(h+1)*t]
			if r.Index >= o.From {
				all[at] = look(tokens[:t], weights)
			}
			if matches != nil {
				matches[at] = o.Detect.row(weights)
			}
		}
	}
	s := m.NewSession()
	defer s.Release()
	err := eval(ctx, m, model.Input{Session: s, Tokens: tokens, NoLogits: true, Trace: &model.Trace{
		Points: []model.Point{{Kind: model.Pattern, Layer: model.AllLayers}}, Read: read}})
	if err != nil {
		return nil, err
	}
	for i := range all { // a weight that is a NaN makes the distance one
		if math.IsNaN(all[i].distance) {
			return nil, fmt.Errorf("heads: layer %d, head %d: a weight at position %d is %w",
				i/c.Head%c.Layer, i%c.Head, i/c.Head/c.Layer, ErrNonFinite)
		}
	}
	t := &HeadTable{Tokens: tokens, From: o.From}
	t.average(all, c.Layer, c.Head)
	for i := range t.Heads {
		if matches != nil {
			t.Heads[i].Match = new(o.Detect.score(matches, i, len(t.Heads), len(tokens)))
		}
	}
	return t, nil
}

// looks are what a head does for one token: the fields of a HeadScore.
type looks struct {
	previous, first, self, duplicate, induction, entropy, distance float64

	repeats bool // the token occurs before
}

// look reads the weights [len(tokens)] of a head for the last of the tokens.
func look(tokens []int, weights []float32) (l looks) {
	t := len(tokens) - 1
	for j, w32 := range weights {
		w := float64(w32)
		l.distance += float64(w * float64(t-j))
		if w > 0 {
			l.entropy -= float64(w * kernels.Log64(w))
		}
		if j < t && tokens[j] == tokens[t] {
			l.repeats = true
			l.duplicate += w
			l.induction += float64(weights[j+1])
		}
	}
	l.previous, l.first, l.self = float64(weights[t-1]), float64(weights[0]), float64(weights[t])
	return l
}

// average fills in the heads: sums over the tokens in their order.
func (t *HeadTable) average(all []looks, layers, heads int) {
	for i := range layers * heads {
		score := HeadScore{Layer: i / heads, Head: i % heads}
		n, repeats := float64(len(t.Tokens)-t.From), 0
		var duplicate, induction float64
		for at := t.From; at < len(t.Tokens); at++ {
			l := &all[at*layers*heads+i]
			score.Previous += l.previous
			score.First += l.first
			score.Self += l.self
			score.Entropy += l.entropy
			score.Distance += l.distance
			if l.repeats {
				repeats++
				duplicate += l.duplicate
				induction += l.induction
			}
		}
		for _, sum := range []*float64{&score.Previous, &score.First, &score.Self, &score.Entropy,
			&score.Distance} {
			*sum /= n
		}
		if t.Repeats = repeats; repeats > 0 {
			duplicate /= float64(repeats)
			induction /= float64(repeats)
			score.Duplicate, score.Induction = &duplicate, &induction
		}
		t.Heads = append(t.Heads, score)
	}
}

// Repeated returns a text in which only induction can know what comes next: the token that stands
// before a text (bos_token_id, else eos_token_id, else 0), and twice the same n ids, which are
// random, and different from it and from each other. The seed determines them on every machine.
// With HeadsOptions.From n+1 the scores are those of the second half.
func Repeated(m *model.Model, n int, seed uint64) ([]int, error) {
	c := m.Config()
	first, _ := c.StartToken()
	if most := min((c.Positions-1)/2, c.VocabSize-1); n < 1 || n > most {
		return nil, fmt.Errorf("repeat: %d tokens, want 1 to %d (n_positions %d, vocab_size %d)", n,
			most, c.Positions, c.VocabSize)
	}
	ids := make([]int, c.VocabSize)
	for i := range ids {
		ids[i] = i
	}
	ids[0], ids[first] = first, 0
	random := rand.NewPCG(seed, 0)
	for i := 1; i <= n; i++ { // Fisher and Yates, without the first place
		other, _ := bits.Mul64(random.Uint64(), uint64(len(ids)-i))
		ids[i], ids[i+int(other)] = ids[i+int(other)], ids[i]
	}
	return append(ids[:n+1:n+1], ids[1:n+1]...), nil
}
