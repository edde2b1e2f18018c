package eval_test

// Vectors of texts: against float64, and the same in every batch.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

func TestVectorsAreThoseOfFloat64(t *testing.T) {
	answers, err := fixture.Heads()
	if err != nil {
		t.Fatal(err)
	}
	m := testmodel.Demo(t, model.Options{Threads: 2})
	for _, text := range answers.Texts {
		for layer, want := range text.Vectors {
			for pooling, want := range map[eval.Pooling][]float64{eval.Mean: want.Mean,
				eval.Last: want.Last, eval.Weighted: want.Weighted} {
				what := fmt.Sprintf("%d tokens, layer %d, %s", len(text.IDs), layer, pooling)
				vector := func(normalize bool) []float32 {
					o := eval.EmbedOptions{Pooling: pooling, Layer: &layer, Normalize: normalize}
					e, err := eval.EmbedOne(context.Background(), m, letters{},
						eval.Request{Tokens: text.IDs}, o)
					if err != nil {
						t.Fatal(err)
					}
					return e.Vector
				}
				plain, unit, squares := vector(false), vector(true), 0.0
				for _, x := range plain {
					squares += float64(x) * float64(x)
				}
				length, largest := math.Sqrt(squares), 0.0
				if w := text.Vectors[layer].Length; pooling == eval.Mean &&
					math.Abs(length-w) > 1e-4*w {
					t.Errorf("%s: length %v, want %v", what, length, w)
				}
				for _, x := range want {
					largest = max(largest, math.Abs(x))
				}
				for i, at := range answers.Shown {
					if math.Abs(float64(plain[at])-want[i]) > 1e-4*largest {
						t.Errorf("%s: element %d is %v, want %v", what, at, plain[at], want[i])
					}
					if math.Abs(float64(unit[at])-want[i]/length) > 1e-4*largest/length {
						t.Errorf("%s, normalised: element %d is %v, want %v", what, at, unit[at],
							want[i]/length)
					}
				}
			}
		}
	}
}

// embedded returns each vector, or error, as text.
func embedded(m *model.Model, requests []eval.Request, o eval.EmbedOptions) (all []string) {
	for e, err := range eval.Embed(context.Background(), m, letters{}, slices.Values(requests), o) {
		var bad *eval.RequestError
		switch {
		case errors.As(err, &bad):
			all = append(all, fmt.Sprintf("%d %v: %v", bad.Index, bad.Tag, bad.Err))
		case err != nil:
			all = append(all, err.Error())
		default:
			all = append(all, fmt.Sprintf("%d %v %d: %v %x", e.Index, e.Tag, e.Dropped, e.Tokens,
				e.Vector))
		}
	}
	return all
}

func TestVectorsInBatches(t *testing.T) {
	m := tinyModel(t, model.Options{Threads: 2})
	requests := related()
	for i := range requests {
		requests[i].Tag = i
	}
	requests = append(requests, eval.Request{Err: errors.New("no line")}, eval.Request{Tokens: []int{}})
	for layer := range 4 {
		o := eval.EmbedOptions{Layer: &layer, Pooling: []eval.Pooling{"", "last", "weighted", "mean"}[layer]}
		o.Batch = 1
		want := embedded(m, requests, o)
		if len(want) != len(requests) {
			t.Fatalf("%d answers to %d requests", len(want), len(requests))
		}
		for _, o.Batch = range []int{0, 7} {
			if got := embedded(m, requests, o); !slices.Equal(got, want) {
				t.Errorf("layer %d, batch %d: other answers", layer, o.Batch)
			}
		}
	}
	if n := m.CacheBytes(); n > 0 {
		t.Errorf("%d bytes of cache are left", n)
	}
}

func TestTextsWithoutAVector(t *testing.T) {
	m, long := tinyModel(t, model.Options{}), strings.Repeat("ab", 12)
	for _, c := range []struct {
		r    eval.Request
		want string
	}{
		{eval.Request{}, "empty: want at least one token"},
		{eval.Request{Tokens: []int{}}, "empty: want at least one token"},
		{eval.Request{Text: long}, "24 tokens, want at most 23"},
		{eval.Request{Context: "a", Text: "b", Pair: true}, "want a text, or tokens"},
		{eval.Request{Tokens: []int{1, 29}}, "token 1: id 29"},
		{eval.Request{Err: errors.New("no line")}, "no line"},
	} {
		got := embedded(m, []eval.Request{{Text: "a"}, c.r, {Text: "b"}}, eval.EmbedOptions{})
		if len(got) != 3 || !strings.Contains(got[1], c.want) || strings.Contains(got[2], "want") {
			t.Errorf("%+v: %q, want %q", c.r, got, c.want)
		}
	}
	cut := embedded(m, []eval.Request{{Text: long}}, eval.EmbedOptions{Truncate: true})
	whole := embedded(m, []eval.Request{{Text: long[:23]}}, eval.EmbedOptions{})
	if strings.Replace(cut[0], "<nil> 1:", "<nil> 0:", 1) != whole[0] {
		t.Errorf("cut: %s, want %s", cut[0], whole[0])
	}
	wrong := 4
	for _, o := range []eval.EmbedOptions{{Pooling: "max"}, {Layer: &wrong}} {
		got := embedded(m, []eval.Request{{Text: "a"}}, o)
		if len(got) != 1 || !strings.Contains(got[0], "want") {
			t.Errorf("%+v: %q", o, got)
		}
	}
	bad := embedded(spoiled(t), []eval.Request{{Text: "abc"}}, eval.EmbedOptions{})
	if !strings.Contains(bad[0], "is not finite") {
		t.Errorf("%q", bad)
	}
}

func ExampleEmbed() {
	m, tok := load(), tokenizer.GPT2()
	defer m.Close()
	texts := []eval.Request{{Text: "The dog ran."}, {Text: "The puppy ran."}, {Text: "It rained."}}
	var first []float32
	for e, err := range eval.Embed(context.Background(), m, tok, slices.Values(texts),
		eval.EmbedOptions{Normalize: true}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		if first == nil {
			first = e.Vector
		}
		cosine := 0.0
		for i, x := range e.Vector {
			cosine += float64(first[i] * x)
		}
		fmt.Printf("%.2f\n", cosine)
	}
	// Output:
	// 1.00
	// 0.96
	// 0.42
}
