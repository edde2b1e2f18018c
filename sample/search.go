package sample

// What searches use of a sampler: scores, and the ids that the filters leave, without a draw.

// Scores returns the logits after all steps before the filters, [vocabulary] or up to IDs.Size:
// -Inf for ids that may not be drawn. They are valid until the sampler's next call.
func (s *Sampler) Scores(logits []float32, context []int) ([]float64, error) {
	err := s.score(Row{Logits: logits}, context)
	return s.scores, err
}

// EachKept calls f for each id that the filters leave, in ascending order, with its score divided
// by the temperature. It uses none of the random numbers of the draws.
func (s *Sampler) EachKept(logits []float32, context []int, f func(id int, score float64)) error {
	from := Row{Logits: logits}
	if err := s.score(from, context); err != nil {
		return err
	}
	if err := s.filter(from, s.likeliest()); err != nil {
		return err
	}
	for i, score := range s.scores {
		if s.weights[i] != 0 {
			f(s.id(i), score/s.by)
		}
	}
	return nil
}
