package sample

// XTC, "exclude top choices" (text-generation-webui, llama.cpp): if a coin says so, the likeliest
// ids go, all but the least likely of those that are likely enough.

// applyXTC tosses the coin of this position, and removes ids if it says so.
func (s *Sampler) applyXTC() {
	o := &s.params
	coin := uniform(&s.State.coins) // one a position, whatever the position is like
	if coin >= o.XTCProbability || o.XTCThreshold > 0.5 {
		return
	}
	s.ready()
	likely := s.atLeast(s.weights, o.XTCThreshold*s.mass)
	if len(likely) < 2 {
		return
	}
	// Among equals the lowest id counts as the likeliest, so that the highest stays.
	stays := likely[0]
	for _, place := range likely {
		if s.scores[place] <= s.scores[stays] {
			stays = place
		}
	}
	least := o.XTCThreshold * s.mass
	places := s.places[:0]
	for i := range s.scores {
		if place := int32(i); place == stays || s.weights[i] < least {
			places = append(places, place)
		}
	}
	s.keep(places)
	s.relevel()
}
