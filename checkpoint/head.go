// Heads: the last layer of a classifier, and what its outputs mean.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/kernels"
	"picogpt/weights"
)

// ErrNoHead is the error of Head, wrapped, for a checkpoint that classifies nothing.
var ErrNoHead = errors.New("no head of a classifier, such as score.weight")

// A Head is the last layer of a classifier: it turns a hidden state after ln_f into a number for
// each label. It is one of Hugging Face's GPT2ForSequenceClassification (score), which reads the last
// token of a text, GPT2ForTokenClassification (classifier), which reads each token, or
// GPT2DoubleHeadsModel (multiple_choice_head.summary), which gives a text one number.
type Head struct {
	Name     string    // of the tensor of the weights
	Labels   []string  // of id2label, else LABEL_0, LABEL_1, … as Hugging Face has it
	PerToken bool      // each token has a class, not the text
	Problem  string    // what the numbers are: one of the Problems
	weight   []float32 // [labels, n_embd]
	bias     []float32 // [labels], or nil
}

// The problems that heads are trained for, as problem_type of config.json has them.
const (
	SingleLabel = "single_label_classification" // softmax: one label holds
	MultiLabel  = "multi_label_classification"  // a sigmoid for each label
	Regression  = "regression"                  // the numbers themselves
)

// Logits returns the head's outputs [labels] for a hidden state after ln_f. The sums are in float64
// and in the order of the elements.
func (h *Head) Logits(hidden []float32) []float64 {
	logits := make([]float64, len(h.Labels))
	for i := range logits {
		for j, w := range h.weight[i*len(hidden) : (i+1)*len(hidden)] {
			logits[i] += float64(float64(w) * float64(hidden[j]))
		}
		if h.bias != nil {
			logits[i] += float64(h.bias[i])
		}
	}
	return logits
}

// Scores returns what the problem makes of logits: probabilities that add up to 1, a probability for
// each label by itself, or the logits.
func (h *Head) Scores(logits []float64) []float64 {
	scores := slices.Clone(logits)
	switch h.Problem {
	case SingleLabel:
		most, sum := slices.Max(logits), 0.0
		for i, x := range logits {
			scores[i] = kernels.Exp64(x - most)
			sum += scores[i]
		}
		for i := range scores {
			scores[i] /= sum
		}
	case MultiLabel:
		for i, x := range logits {
			e := kernels.Exp64(-math.Abs(x))
			if scores[i] = 1 / (1 + e); x < 0 {
				scores[i] = e / (1 + e)
			}
		}
	}
	return scores
}

// config returns the head's keys of a config.json, each with a comma after it.
func (h *Head) config() []byte {
	ids, labels := map[int]string{}, map[string]int{}
	for i, label := range h.Labels {
		ids[i], labels[label] = label, i
	}
	var b []byte
	for _, found := range headTensors {
		if h.Name == found.name {
			b = fmt.Appendf(b, `"architectures":[%q],`, found.class)
		}
	}
	for _, key := range []struct {
		name  string
		value any
	}{{"id2label", ids}, {"label2id", labels}, {"problem_type", h.Problem}} {
		value, _ := json.Marshal(key.value) // maps and strings have JSON
		b = fmt.Appendf(b, `"%s":%s,`, key.name, value)
	}
	return b
}

// headTensors are the names of the heads' weights, and Hugging Face's classes that have them.
var headTensors = []struct {
	name, class string
	perToken    bool
	bias        bool
}{
	{"score.weight", "GPT2ForSequenceClassification", false, false},
	{"classifier.weight", "GPT2ForTokenClassification", true, true},
	{"multiple_choice_head.summary.weight", "GPT2DoubleHeadsModel", false, true},
}

// HeadTensor reports whether a tensor of that name is part of a head that Head reads.
func HeadTensor(name string) bool {
	for _, h := range headTensors {
		if name == h.name || h.bias && name == biasOf(h.name) {
			return true
		}
	}
	return false
}

func biasOf(weight string) string { return strings.TrimSuffix(weight, "weight") + "bias" }

// Head reads the checkpoint's head. The error wraps ErrNoHead if it has none. Labels and the problem
// are those of config.json, or of an adapter's config that names labels.
func (c *Checkpoint) Head() (*Head, error) {
	for _, found := range headTensors {
		t, ok := c.Tensors.Tensor(found.name)
		if !ok {
			continue
		}
		h := &Head{Name: t.Name, PerToken: found.perToken}
		err := h.read(c, t, found.bias)
		if err == nil {
			err = h.settle(c)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.Tensors.Name(), err)
		}
		return h, nil
	}
	return nil, fmt.Errorf("%s: %w", c.Tensors.Name(), ErrNoHead)
}

// mostLabels bounds what a file can make a program hold.
const mostLabels = 1 << 16

// read reads the weights.
func (h *Head) read(c *Checkpoint, t weights.Tensor, bias bool) (err error) {
	if s := t.Shape; len(s) != 2 || s[0] < 1 || s[0] > mostLabels || s[1] != c.Config.Embd {
		return fmt.Errorf("%s: shape %v, want [labels %d]", t.Name, t.Shape, c.Config.Embd)
	}
	h.Labels = make([]string, t.Shape[0])
	if h.weight, err = floats(&t); err != nil || !bias {
		return err
	}
	b, ok := c.Tensors.Tensor(biasOf(t.Name))
	switch {
	case !ok:
		return fmt.Errorf("%s: missing, want shape [%d]", biasOf(t.Name), t.Shape[0])
	case len(b.Shape) != 1 || b.Shape[0] != t.Shape[0]:
		return fmt.Errorf("%s: shape %v, want [%d]", b.Name, b.Shape, t.Shape[0])
	}
	h.bias, err = floats(&b)
	return err
}

// settle sets the labels and the problem.
func (h *Head) settle(c *Checkpoint) error {
	for i := range h.Labels {
		h.Labels[i] = "LABEL_" + strconv.Itoa(i)
	}
	labels, where := c.labels, folder.AdapterConfig
	data, err := c.read(folder.Config)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err == nil {
		err = strictjson.Members(data, func(key string, value json.RawMessage) (err error) {
			switch {
			case string(value) == "null":
			case key == "id2label" && labels == nil:
				where, labels = folder.Config, value
			case key == "problem_type":
				if h.Problem, err = strictjson.String(value); err != nil {
					err = fmt.Errorf("problem_type: %w", err)
				}
			case strings.HasPrefix(h.Name, "multiple_choice_head"):
				err = refuseSummary(key, string(value))
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	if labels != nil {
		if err := h.name(labels); err != nil {
			return fmt.Errorf("%s: id2label: %w", where, err)
		}
	}
	return h.settleProblem()
}

// refuseSummary returns an error for a key that asks GPT2DoubleHeadsModel for another number than the
// projection of the last token's hidden state.
func refuseSummary(key, value string) error {
	switch {
	case key == "summary_type" && value != `"cls_index"` && value != `"last"`:
		return fmt.Errorf("summary_type: %s, want cls_index or last", quote.Plain(value, 40))
	case key == "summary_activation" && value != `""`:
		return fmt.Errorf("summary_activation: %s: not supported, want none", quote.Plain(value, 40))
	}
	return nil
}

// name sets the labels from an object of ids and names.
func (h *Head) name(labels json.RawMessage) error {
	seen := map[string]bool{}
	err := strictjson.Members(labels, func(key string, value json.RawMessage) error {
		id, err := strconv.Atoi(key)
		if err != nil || strconv.Itoa(id) != key || id < 0 || id >= len(h.Labels) {
			return fmt.Errorf("%s: want 0 to %d, the rows of %s", quote.Short(key, 40),
				len(h.Labels)-1, h.Name)
		}
		if h.Labels[id], err = strictjson.String(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		if seen[h.Labels[id]] {
			return fmt.Errorf("%s: %s is another's label too", key, quote.Short(h.Labels[id], 40))
		}
		seen[h.Labels[id]] = true
		return nil
	})
	if err == nil && len(seen) != len(h.Labels) {
		err = fmt.Errorf("%d labels, want %d, the rows of %s", len(seen), len(h.Labels), h.Name)
	}
	return err
}

// settleProblem settles what the numbers are, as Hugging Face's pipelines do.
func (h *Head) settleProblem() error {
	switch {
	case strings.HasPrefix(h.Name, "multiple_choice_head"):
		h.Problem = Regression // to be compared with other texts' numbers
	case h.PerToken:
		h.Problem = SingleLabel
	case h.Problem != "" && !listed(SingleLabel+" "+MultiLabel+" "+Regression, h.Problem):
		return fmt.Errorf("config.json: problem_type: %s, want %s, %s or %s",
			quote.Short(h.Problem, 40), SingleLabel, MultiLabel, Regression)
	case len(h.Labels) == 1 && h.Problem != Regression:
		h.Problem = MultiLabel // the softmax of one number is always 1
	case h.Problem == "":
		h.Problem = SingleLabel
	}
	return nil
}
