package sample

// Numbers that are added to logits.

import "math"

// A Bias is added to the logit of the last of its ids where the context ends with the others, which
// for one id is always. -Inf shuts the id. Biases add.
type Bias struct {
	IDs   []int
	Value float64
}

// addBiases adds the biases.
func (s *Sampler) addBiases() {
	for i := range s.params.Bias {
		b := &s.params.Bias[i]
		last := len(b.IDs) - 1
		// Hugging Face wants room for all ids, not just for those before the last.
		if last > 0 && len(b.IDs) > len(s.context) || !endsWith(s.context, b.IDs[:last]) {
			continue
		}
		if math.IsInf(b.Value, -1) {
			s.shutID(b.IDs[last])
		} else if place, ok := s.place(b.IDs[last]); ok {
			s.scores[place] += b.Value
		}
	}
}

func endsWith(tokens, end []int) bool {
	from := len(tokens) - len(end)
	if from < 0 {
		return false
	}
	for i, id := range end {
		if tokens[from+i] != id {
			return false
		}
	}
	return true
}
