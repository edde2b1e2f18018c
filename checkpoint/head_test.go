package checkpoint_test

// Heads of classifiers: what is read, and what is refused.

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/weights"
)

// tensor returns a tensor of float32.
func tensorOf(name string, numbers []float32, shape ...int) weights.Tensor {
	data, err := binary.Append(nil, binary.LittleEndian, numbers)
	if err != nil {
		panic(err)
	}
	return weights.Tensor{Name: name, DType: weights.F32, Shape: shape, Data: data}
}

// withHead opens a small checkpoint of width 15 with more tensors, and with more keys in its config.
func withHead(
	t *testing.T, config map[string]any, more ...weights.Tensor,
) *checkpoint.Checkpoint {
	t.Helper()
	o := fixture.Options{Prefix: true, Config: config}
	var b bytes.Buffer
	if err := weights.Write(&b, nil, append(fixture.Tensors(o), more...)); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.OpenFS(folder.Memory{"config.json": fixture.Config(o),
		"model.safetensors": b.Bytes()}, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func object(text string) (v any) {
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		panic(err)
	}
	return v
}

// choiceHead is the head of GPT2DoubleHeadsModel.
func choiceHead() []weights.Tensor {
	return []weights.Tensor{
		tensorOf("multiple_choice_head.summary.weight", fixture.HeadWeights(1, 15), 1, 15),
		tensorOf("multiple_choice_head.summary.bias", []float32{3}, 1)}
}

func TestLabelsAndProblems(t *testing.T) {
	score := func(n int) weights.Tensor {
		return tensorOf("score.weight", fixture.HeadWeights(n, 15), n, 15)
	}
	token := []weights.Tensor{tensorOf("classifier.weight", fixture.HeadWeights(2, 15), 2, 15),
		tensorOf("classifier.bias", []float32{1, 2}, 2)}
	choice := choiceHead()
	for _, c := range []struct {
		config   string
		tensors  []weights.Tensor
		labels   string
		problem  string
		perToken bool
	}{
		{`{}`, []weights.Tensor{score(3)}, "LABEL_0 LABEL_1 LABEL_2", checkpoint.SingleLabel, false},
		{`{}`, []weights.Tensor{score(1)}, "LABEL_0", checkpoint.MultiLabel, false},
		{`{"problem_type":"single_label_classification"}`, []weights.Tensor{score(1)}, "LABEL_0",
			checkpoint.MultiLabel, false},
		{`{"problem_type":null,"id2label":null}`, []weights.Tensor{score(2)}, "LABEL_0 LABEL_1",
			checkpoint.SingleLabel, false},
		{`{"problem_type":"regression"}`, []weights.Tensor{score(1)}, "LABEL_0",
			checkpoint.Regression, false},
		{`{"problem_type":"multi_label_classification","id2label":{"1":"b","0":"a"}}`,
			[]weights.Tensor{score(2)}, "a b", checkpoint.MultiLabel, false},
		{`{"id2label":{"0":"LABEL_1","1":"LABEL_0"}}`, []weights.Tensor{score(2)},
			"LABEL_1 LABEL_0", checkpoint.SingleLabel, false},
		{`{"id2label":{"0":"O","1":"B"}}`, token, "O B", checkpoint.SingleLabel, true},
		{`{"summary_type":"last","summary_activation":null,"summary_proj_to_labels":true}`, choice,
			"LABEL_0", checkpoint.Regression, false},
	} {
		h, err := withHead(t, object(c.config).(map[string]any), c.tensors...).Head()
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(h.Labels, " "); got != c.labels || h.Problem != c.problem ||
			h.PerToken != c.perToken || h.Name != c.tensors[0].Name {
			t.Errorf("%s: %s, %q, %s, per token %v", c.config, h.Name, got, h.Problem, h.PerToken)
		}
		for _, tensor := range c.tensors {
			if !checkpoint.HeadTensor(tensor.Name) {
				t.Errorf("%s is no tensor of a head", tensor.Name)
			}
		}
	}
}

// TestAClassifierNeedsNoOutputHead: its class in Hugging Face's library has none, and leaves out
// lm_head.weight where tie_word_embeddings is false. What is written is such a file again, and formats
// that cannot say it are refused.
func TestAClassifierNeedsNoOutputHead(t *testing.T) {
	classifiers := [][]weights.Tensor{nil,
		{tensorOf("score.weight", fixture.HeadWeights(2, 15), 2, 15)},
		{tensorOf("classifier.weight", fixture.HeadWeights(2, 15), 2, 15),
			tensorOf("classifier.bias", []float32{1, 2}, 2)}, choiceHead()}
	for _, tensors := range classifiers {
		tied := withHead(t, nil, tensors...)
		c := withHead(t, map[string]any{"tie_word_embeddings": false}, tensors...)
		want, missing := tied.Head()
		got, err := c.Head()
		if err != nil != (tensors == nil) || !reflect.DeepEqual(got, want) {
			t.Errorf("head %v, %v, want %v, %v", got, err, want, missing)
		}
		names := []string{}
		for _, tensor := range tensors {
			names = append(names, tensor.Name)
		}
		if !slices.Equal(append([]string{}, c.Unused()...), names) {
			t.Errorf("unused %v, want %v", c.Unused(), names)
		}
		for _, to := range []string{"gguf", "nanogpt"} {
			if _, err := c.Convert(to); tensors == nil && (err == nil || !strings.Contains(err.Error(),
				"tie_word_embeddings: false, but a file of ")) {
				t.Errorf("%s: %v", to, err)
			}
			if _, err := tied.Convert(to); tensors == nil && err != nil {
				t.Errorf("tied, %s: %v", to, err)
			}
		}
		v, err := c.Convert("safetensors")
		if err != nil {
			t.Fatal(err)
		}
		m, err := model.New(t.Context(), c.Config, c.Tensors, model.Options{Headless: true})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		dir := filepath.Join(t.TempDir(), "out")
		if err := v.Write(t.Context(), dir, m); err != nil {
			t.Fatal(err)
		}
		again, err := checkpoint.Open(dir, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		if tensors != nil { // else the names have no prefix
			same(t, again, c.Tensors)
		}
		if _, err := model.New(t.Context(), again.Config, again.Tensors, model.Options{}); !errors.Is(err,
			model.ErrNoLogits) {
			t.Errorf("written: %v", err)
		}
	}
}

func TestHeadsThatAreRefused(t *testing.T) {
	good := fixture.HeadWeights(2, 15)
	nan := slices.Clone(good)
	nan[7] = float32(math.NaN())
	classifier := tensorOf("classifier.weight", good, 2, 15)
	for _, c := range []struct {
		config  string
		tensors []weights.Tensor
		want    string
	}{
		{`{}`, nil, "no head of a classifier"},
		{`{}`, []weights.Tensor{tensorOf("score.weight", good[:28], 2, 14)},
			"score.weight: shape [2 14], want [labels 15]"},
		{`{}`, []weights.Tensor{tensorOf("score.weight", good, 30)},
			"score.weight: shape [30], want [labels 15]"},
		{`{}`, []weights.Tensor{tensorOf("score.weight", nil, 0, 15)}, "shape [0 15]"},
		{`{}`, []weights.Tensor{tensorOf("score.weight", nan, 2, 15)}, "score.weight: a number"},
		{`{}`, []weights.Tensor{classifier}, "classifier.bias: missing, want shape [2]"},
		{`{}`, []weights.Tensor{classifier, tensorOf("classifier.bias", good[:3], 3)},
			"classifier.bias: shape [3], want [2]"},
		{`{"id2label":{"0":"a"}}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			"config.json: id2label: 1 labels, want 2, the rows of score.weight"},
		{`{"id2label":{"0":"a","2":"b"}}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			`id2label: "2": want 0 to 1, the rows of score.weight`},
		{`{"id2label":{"0":"a","01":"b"}}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			`id2label: "01": want 0 to 1`},
		{`{"id2label":{"0":"a","1":"a"}}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			`id2label: 1: "a" is another's label too`},
		{`{"id2label":{"0":"a","1":3}}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			"id2label: 1: want a string"},
		{`{"id2label":["a","b"]}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)}, "id2label: "},
		{`{"problem_type":"ranking"}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)},
			`problem_type: "ranking", want single_label_classification`},
		{`{"summary_type":"mean"}`, choiceHead(), `summary_type: "mean", want cls_index or last`},
		{`{"summary_activation":"tanh"}`, choiceHead(), `summary_activation: "tanh": not supported`},
		{`{"problem_type":1}`, []weights.Tensor{tensorOf("score.weight", good, 2, 15)}, "problem_type"},
	} {
		_, err := withHead(t, object(c.config).(map[string]any), c.tensors...).Head()
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.HasPrefix(err.Error(), "model.safetensors: ") ||
			errors.Is(err, checkpoint.ErrNoHead) != (c.tensors == nil) {
			t.Errorf("%s: %v, want %q", c.config, err, c.want)
		}
	}
}

func TestOutputsOfAHead(t *testing.T) {
	hidden := make([]float32, 15)
	for i := range hidden {
		hidden[i] = float32(i) - 7.25
	}
	weight := fixture.HeadWeights(3, 15)
	want := make([]float64, 3)
	for i := range want {
		for j, x := range hidden {
			want[i] += float64(x) * float64(weight[i*15+j]) // exact: few bits each
		}
	}
	scores := map[string][]float64{checkpoint.Regression: want}
	sum := math.Exp(want[0]) + math.Exp(want[1]) + math.Exp(want[2])
	for _, x := range want {
		scores[checkpoint.SingleLabel] = append(scores[checkpoint.SingleLabel], math.Exp(x)/sum)
		scores[checkpoint.MultiLabel] = append(scores[checkpoint.MultiLabel], 1/(1+math.Exp(-x)))
	}
	for _, problem := range slices.Sorted(maps.Keys(scores)) {
		h, err := withHead(t, map[string]any{"problem_type": problem},
			tensorOf("score.weight", weight, 3, 15)).Head()
		if err != nil {
			t.Fatal(err)
		}
		if got := h.Logits(hidden); !slices.Equal(got, want) {
			t.Errorf("logits %v, want %v", got, want)
		}
		for i, got := range h.Scores(want) {
			if w := scores[problem][i]; math.Abs(got-w) > 1e-14*math.Abs(w) {
				t.Errorf("%s: score %d is %v, want %v", problem, i, got, w)
			}
		}
		for _, far := range [][]float64{{-1e5, 0, 1e5}, {1e5, 1e5, 1e5}} {
			for i, got := range h.Scores(far) {
				if got-got != 0 || problem != checkpoint.Regression && (got < 0 || got > 1) {
					t.Errorf("%s of %v: score %d is %v", problem, far, i, got)
				}
			}
		}
	}
}
