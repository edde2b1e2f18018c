package eval_test

// Classes of texts: against float64, and the same in every batch.

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
	"picogpt/eval"
	"picogpt/internal/folder"

	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

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
