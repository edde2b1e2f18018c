package sample

// Numbers that are added to logits, and how long a text is to be.

import "math"

// A Bias is added to the logit of the last of its ids where the context ends with the others, which
// for one id is always. -Inf shuts the id. Biases add.
type Bias struct {
	IDs   []int
	Value float64
}

// bias adds the biases.
func (s *Sampler) bias() {
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

// goOn shuts the ids that end the text while it has fewer than MinTokens new tokens.
func (s *Sampler) goOn() {
	if s.State.Generated < s.params.MinTokens {
		for _, id := range s.ends {
			s.shutID(id)
		}
	}
}

// A LengthDecay makes the ids that end the text likelier from the Start-th new token on: with n
// more, the logit x gains |x|·(Factor^n - 1). A Factor of 0 or 1 is off; below 1 they become less
// likely.
type LengthDecay struct {
	Start  int
	Factor float64
}

// hasten applies the length decay.
func (s *Sampler) hasten() {
	d := &s.params.LengthDecay
	n := s.State.Generated - d.Start
	if n <= 0 {
		return
	}
	const most = 1e200 // so that nothing becomes infinite
	gain := min(power(d.Factor, float64(n)), most) - 1
	for _, id := range s.ends {
		if place, ok := s.place(id); ok && !math.IsInf(s.scores[place], -1) {
			x := s.scores[place]
			s.scores[place] = min(x+float64(math.Abs(x)*gain), most)
		}
	}
}
