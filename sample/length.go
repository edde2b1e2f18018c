package sample

// How long a text is to be: the ids that end it are shut at first, or become likelier.

import "math"

// shutEnds shuts the ids that end the text while it has fewer than MinTokens new tokens.
func (s *Sampler) shutEnds() {
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

// decayLength applies the length decay.
func (s *Sampler) decayLength() {
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
