package eval_test

// Vectors of texts, and classes: against float64, and the same in every batch.

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/eval"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
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

// classifier returns the demo with a head of so many labels: for texts, or for tokens.
func classifier(t testing.TB, labels int, perToken bool) (*model.Model, *checkpoint.Head) {
	t.Helper()
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	float32s := func(name string, numbers []float32, shape ...int) weights.Tensor {
		data, _ := binary.Append(nil, binary.LittleEndian, numbers)
		return weights.Tensor{Name: name, DType: weights.F32, Shape: shape, Data: data}
	}
	all, w := f.All(), fixture.HeadWeights(labels, 128)
	if perToken {
		all = append(all, float32s("classifier.weight", w, labels, 128),
			float32s("classifier.bias", []float32{0.25, -1}, 2))
	} else {
		all = append(all, float32s("score.weight", w, labels, 128))
	}
	var file bytes.Buffer
	if err := weights.Write(&file, nil, all); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenFS(folder.Memory{"config.json": demo.Config(),
		"model.safetensors": file.Bytes()}, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	h, err := c.Head()
	if err != nil {
		t.Fatal(err)
	}
	return m, h
}

// nearAll fails the test unless logits are within 1e-4 of the largest.
func nearAll(t *testing.T, what string, got, want []float64) {
	t.Helper()
	largest := 0.0
	for _, x := range want {
		largest = max(largest, math.Abs(x))
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-4*largest {
			t.Errorf("%s: logit %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

func TestClassesAreThoseOfFloat64(t *testing.T) {
	answers, err := fixture.Heads()
	if err != nil {
		t.Fatal(err)
	}
	for _, perToken := range []bool{false, true} {
		labels := 3
		if perToken {
			labels = 2
		}
		m, h := classifier(t, labels, perToken)
		for _, text := range answers.Texts {
			c, err := eval.ClassifyOne(context.Background(), m, tokenizer.GPT2(), h,
				eval.Request{Tokens: text.IDs}, eval.ClassifyOptions{})
			if err != nil {
				t.Fatal(err)
			}
			want := [][]float64{text.Sequence}
			if perToken {
				want = text.Token
			}
			if len(c.Classes) != len(want) || c.Spans != nil {
				t.Fatalf("%d classes, want %d", len(c.Classes), len(want))
			}
			for i, class := range c.Classes {
				nearAll(t, fmt.Sprintf("%d tokens, %d", len(text.IDs), i), class.Logits, want[i])
				best := slices.Index(want[i], slices.Max(want[i]))
				if class.Best != best || class.Label != fmt.Sprint("LABEL_", best) {
					t.Errorf("class %d is %d %s, want %d", i, class.Best, class.Label, best)
				}
			}
		}
	}
}

func TestClassesInBatches(t *testing.T) {
	cases.NotShort(t)
	for _, perToken := range []bool{false, true} {
		m, h := classifier(t, 2, perToken)
		requests := []eval.Request{{Text: "naïve 🙂 text", Tag: "a"}, {Text: ""}, {Tokens: []int{5}},
			{Text: strings.Repeat("the cat ", 129)}, {Err: errors.New("no line")}, {Text: "One."}}
		for i := range 40 {
			requests = append(requests, eval.Request{Text: strings.Repeat("a b", i+1)})
		}
		all := func(o eval.ClassifyOptions) (out []string) {
			for c, err := range eval.Classify(context.Background(), m, tokenizer.GPT2(), h,
				slices.Values(requests), o) {
				b, _ := json.Marshal(c)
				out = append(out, fmt.Sprintf("%s %v", b, err))
			}
			return out
		}
		want := all(eval.ClassifyOptions{Batch: 1})
		if len(want) != len(requests) || !strings.Contains(want[1], "empty") ||
			!strings.Contains(want[3], "want at most 256") || !strings.Contains(want[4], "no line") ||
			strings.Contains(want[5], "request") {
			t.Fatalf("%.200q", want)
		}
		for _, batch := range []int{0, 3} {
			if !slices.Equal(all(eval.ClassifyOptions{Batch: batch}), want) {
				t.Errorf("batch %d: other answers", batch)
			}
		}
		cut := all(eval.ClassifyOptions{Truncate: true})
		if !strings.Contains(cut[3], `"Dropped":3`) {
			t.Errorf("a text of 259 tokens: %.200q", cut[3])
		}
	}
}

func TestSpansOfClassifiedTokens(t *testing.T) {
	m, h := classifier(t, 2, true)
	const text = "naïve 🙂 text"
	c, err := eval.ClassifyOne(context.Background(), m, tokenizer.GPT2(), h, eval.Request{Text: text},
		eval.ClassifyOptions{})
	if err != nil || len(c.Spans) != len(c.Tokens) || len(c.Classes) != len(c.Tokens) {
		t.Fatalf("%+v, %v", c, err)
	}
	for i, s := range c.Spans {
		if piece, _ := tokenizer.GPT2().Text(c.Tokens[i]); text[s.Start:s.End] != piece {
			t.Errorf("token %d is %q, want %q", i, text[s.Start:s.End], piece)
		}
	}
}
