package sample

// Typical: the ids whose surprise is nearest to the entropy.

import (
	"cmp"
	"math"
	"slices"

	"picogpt/internal/option"
)

func typicalStep() step {
	return step{
		name: "typical", also: "typ-p typical-p", kind: filter, do: (*Sampler).applyTypical,
		on: func(p *Params) bool { return p.Typical != 0 && p.Typical != 1 },
		table: func(p *Params) []option.Option {
			return []option.Option{{
				Name: "typical", Value: &p.Typical, Range: option.Range{To: 1},
				Want: "a number from 0 to 1", Default: "1",
				Settle: func() { leastForZero(&p.Typical) },
				Flag: option.Flag{Name: "typical", Holder: "P", Group: option.Filters,
					Others: "typical-p", Help: "choose among the tokens whose surprise is nearest to " +
						"what is expected, that have the probability P together; 1 is off"},
				Field: option.Field{Name: "typical_p"},
				Setting: option.Setting{Group: "More filters", Label: "Typical",
					Min: 0.01, Max: 1, Step: 0.01,
					Help: "Only tokens about as surprising as expected here, up to this " +
						"probability. 1 is off."},
			}}
		},
	}
}

// applyTypical keeps the ids whose surprise is nearest to the entropy, as many as together have the
// probability Typical. The likeliest id can be removed.
func (s *Sampler) applyTypical() {
	s.ready()
	entropy, logMass := s.entropy()
	s.nearness = resized(s.nearness, len(s.scores))
	for i := range s.scores {
		s.nearness[i] = -math.Abs(logMass - s.logWeight(i) - entropy)
	}
	want := s.params.Typical * s.mass
	largest := s.largest
	s.largest = s.maximum(s.nearness)
	least, above, found := s.reach(s.nearness, s.weights, want, math.Inf(-1), math.Inf(1))
	s.largest = largest
	if s.llama {
		s.applyTypicalLlama(want, least, above, found)
		return
	}
	if !found {
		return
	}
	places := s.atLeast(s.nearness, least)
	if len(places) < s.least {
		places = s.nearest()[:min(s.least, len(s.scores))]
		slices.Sort(places)
	}
	s.keep(places)
	s.relevel()
}

// applyTypicalLlama is applyTypical by llama.cpp's definition: the shortest prefix, in order of
// nearness, of a probability above Typical, even if the next ids are as near. The rounded sums in
// that order decide. What reach found decides as well, unless a sum is too close to the wanted one.
func (s *Sampler) applyTypicalLlama(want, least, above float64, found bool) {
	// Twice the rounding error of two sums of so many terms that are near want.
	close := want * float64(len(s.scores)) * 0x1p-50
	if !found || above > want-close {
		s.sortTypical(want)
		return
	}
	// Of the ids as near as the least, the lowest come first.
	sum, last := above, int32(-1)
	for _, place := range s.within(s.nearness, least, math.Nextafter(least, math.Inf(1))) {
		if sum += s.weights[place]; sum > want-close {
			last = place
			break
		}
	}
	if last < 0 || sum < want+close {
		s.sortTypical(want)
		return
	}
	places := s.atLeast(s.nearness, least)
	s.keep(slices.DeleteFunc(places, func(place int32) bool {
		return s.nearness[place] == least && place > last
	}))
	s.relevel()
}

// sortTypical is applyTypicalLlama by the sums that decide: it sorts.
func (s *Sampler) sortTypical(want float64) {
	sum, places := 0.0, s.nearest()
	for i, place := range places {
		if sum += s.weights[place]; sum > want {
			places = places[:i+1]
			break
		}
	}
	slices.Sort(places)
	s.keep(places)
	s.relevel()
}

// nearest returns all places in the order of nearness.
func (s *Sampler) nearest() []int32 {
	places := s.atLeast(s.nearness, math.Inf(-1))
	slices.SortFunc(places, func(a, b int32) int {
		return cmp.Or(cmp.Compare(s.nearness[b], s.nearness[a]), cmp.Compare(a, b))
	})
	return places
}
