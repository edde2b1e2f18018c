package picogpt_test

// GPT.Classify: with a head, and without one.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"slices"
	"testing"

	"picogpt"
	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/eval"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

func TestClassify(t *testing.T) {
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	head := fixture.HeadWeights(3, 128)
	data, _ := binary.Append(nil, binary.LittleEndian, head)
	var file bytes.Buffer
	if err := weights.Write(&file, nil, append(f.All(), weights.Tensor{Name: "score.weight",
		DType: weights.F32, Shape: []int{3, 128}, Data: data})); err != nil {
		t.Fatal(err)
	}
	untied := bytes.Replace(demo.Config(), []byte(`"tie_word_embeddings": true`),
		[]byte(`"tie_word_embeddings": false`), 1) // so that it has no output head, and needs none
	gpt, err := picogpt.OpenFS(t.Context(), folder.Memory{"config.json": untied,
		"model.safetensors": file.Bytes()}, picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	if _, err := gpt.Complete(t.Context(), "a", picogpt.Options{}); !errors.Is(err, model.ErrNoLogits) {
		t.Errorf("a text without an output head: %v", err)
	}
	c, err := gpt.Classify(t.Context(), "The dog ran home.")
	if err != nil {
		t.Fatal(err)
	}
	last, err := gpt.Embed(t.Context(), "The dog ran home.", eval.EmbedOptions{Pooling: eval.Last})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float64, 3)
	for i := range want {
		for j, x := range last {
			want[i] += float64(x) * float64(head[i*128+j])
		}
	}
	got := c.Classes[0]
	for i := range want {
		if d := got.Logits[i] - want[i]; d > 1e-9 || d < -1e-9 {
			t.Errorf("logits %v, want %v", got.Logits, want)
		}
	}
	if got.Best != slices.Index(want, slices.Max(want)) || len(c.Tokens) != 5 {
		t.Errorf("%+v", c)
	}

	none, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer none.Close()
	if _, err := none.Classify(t.Context(), "a"); !errors.Is(err, checkpoint.ErrNoHead) {
		t.Errorf("no head: %v", err)
	}
}
