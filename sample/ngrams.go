package sample

// No sequence of ids occurs twice.

import "slices"

// shutNgrams shuts the ids that would make the newest tokens an n-gram that occurred before.
func (s *Sampler) shutNgrams() {
	n := s.params.NoRepeatNgram
	if len(s.context)+1 < n {
		return
	}
	newest := s.context[len(s.context)-(n-1):] // [n-1]
	for i := n - 1; i < len(s.context); i++ {
		if slices.Equal(s.context[i-(n-1):i], newest) {
			s.shutID(s.context[i])
		}
	}
}
