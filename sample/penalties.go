package sample

// Penalties for ids that occurred before: repetition, frequency and presence.

// newest returns the last n of some tokens, all if n is 0 or there are fewer.
func newest(tokens []int, n int) []int {
	if 0 < n && n < len(tokens) {
		return tokens[len(tokens)-n:]
	}
	return tokens
}

// penalised returns the tokens that a penalty looks at, with those of the prompt or without.
func (s *Sampler) penalised(prompt bool) []int {
	window := newest(s.context, s.params.RepeatLastN)
	if own := s.State.Generated; !prompt && own < len(window) {
		return window[len(window)-own:]
	}
	return window
}

// applyPenalties applies the repetition penalty, once to each id, and then the frequency and the presence
// penalty.
func (s *Sampler) applyPenalties() {
	s.divide()
	o := &s.params
	withPrompt := func(otherwise bool) bool {
		if o.PenaltyPrompt != nil {
			return *o.PenaltyPrompt
		}
		return otherwise
	}
	if p := o.RepeatPenalty; p != 0 && p != 1 {
		s.count(s.penalised(withPrompt(true)), func(x float64, _ int32) float64 {
			if x < 0 {
				return x * p
			}
			return x / p
		})
	}
	if o.FrequencyPenalty != 0 || o.PresencePenalty != 0 {
		s.count(s.penalised(withPrompt(s.llama)), func(x float64, n int32) float64 {
			return x - float64(float64(n)*o.FrequencyPenalty) - o.PresencePenalty
		})
	}
}

// count replaces the score of each of some ids, given how often it occurs.
func (s *Sampler) count(ids []int, score func(x float64, n int32) float64) {
	counts := s.zeroCounts()
	for _, id := range ids {
		if 0 <= id && id < len(counts) {
			counts[id]++
		}
	}
	for _, id := range ids {
		if id < 0 || id >= len(counts) || counts[id] == 0 {
			continue
		}
		if place, ok := s.place(id); ok {
			s.change(place, score(s.scores[place], counts[id]))
		}
		counts[id] = 0
	}
}

// zeroCounts returns a count for each id of the vocabulary, all 0. Leave them so.
func (s *Sampler) zeroCounts() []int32 {
	if len(s.counts) < s.rows {
		s.counts = make([]int32, s.rows)
	}
	return s.counts
}
