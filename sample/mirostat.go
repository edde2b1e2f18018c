package sample

// Mirostat (Basu and others, arXiv 2007.14966): a limit that moves, so that the surprise of the
// drawn tokens stays near a target. The definitions are llama.cpp's.

import (
	"math"

	"picogpt/internal/option"
	"picogpt/kernels"
)

// Mirostat replaces all filters. It follows the temperature.
type Mirostat struct {
	Version int     // 1 or 2; 0 means off
	Tau     float64 // the target, in bits; 5 is usual
	Eta     float64 // how fast the limit follows; 0.1 is usual
}

func mirostatStep() step {
	return step{
		name: "mirostat", kind: instead, do: (*Sampler).applyMirostat, drew: (*Sampler).follow,
		on:    func(p *Params) bool { return p.Mirostat.Version != 0 },
		begin: func(p *Params, s *State) { s.mu = 2 * p.Mirostat.Tau },
		table: mirostatTable,
	}
}

func mirostatTable(p *Params) []option.Option {
	m := &p.Mirostat
	return []option.Option{{
		Name: "mirostat", Value: &m.Version, Range: option.Range{To: 2}, Want: "0 (off), 1 or 2",
		Default: "0",
		Flag: option.Flag{Name: "mirostat", Holder: "1|2", Group: option.Filters,
			Help: "in place of all filters, keep the surprise of the tokens near a target, by " +
				"version 1 or 2; 0 is off"},
		Field: option.Field{Name: "mirostat"},
		Setting: option.Setting{Group: "More filters", Label: "Mirostat", Max: 2, Step: 1,
			Help: "1 or 2: keeps the surprise of the text near a target, in place of the filters."},
	}, {
		Name: "mirostat tau", Value: &m.Tau, Want: "0 or a finite number above it",
		Default: "5", With: []string{"mirostat"},
		Flag: option.Flag{Name: "mirostat-tau", Holder: "BITS", Group: option.Filters,
			Others: "mirostat-ent", Help: "the target"},
		Field: option.Field{Name: "mirostat_tau", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "More filters", Label: "Mirostat, target",
			Max: 20, Step: 0.1, Slider: 10, Help: "In bits a token."},
	}, {
		Name: "mirostat eta", Value: &m.Eta, Want: "0 or a finite number above it",
		Default: "0.1", With: []string{"mirostat"},
		Flag: option.Flag{Name: "mirostat-eta", Holder: "X", Group: option.Filters,
			Others: "mirostat-lr", Help: "how fast Mirostat corrects itself"},
		Field: option.Field{Name: "mirostat_eta", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "More filters", Label: "Mirostat, pace",
			Max: 1, Step: 0.01, Help: "How fast it corrects itself."},
	}}
}

// applyMirostat removes ids in place of the filters.
func (s *Sampler) applyMirostat() {
	if s.params.Mirostat.Version == 1 {
		s.applyMirostat1()
		return
	}
	s.applyMirostat2()
}

// applyMirostat2 keeps the ids whose surprise is at most mu, or the likeliest if there are none.
func (s *Sampler) applyMirostat2() {
	s.ready()
	least := s.mass * kernels.Exp64(-s.State.mu*math.Ln2)
	if places := s.atLeast(s.weights, least); len(places) > 0 {
		s.keep(places)
		return
	}
	s.keepLikeliest(1)
}

// fitted is how many of the likeliest ids version 1 looks at.
const fitted = 100

// applyMirostat1 keeps the k likeliest ids, where k is estimated to give the surprise mu: it
// assumes that probabilities fall with a power of the rank, which it fits to the likeliest ids.
func (s *Sampler) applyMirostat1() {
	s.ready()
	k := s.fit()
	if k < float64(len(s.scores)) {
		s.takeLikeliest(max(1, int(k)))
	}
}

// fit returns how many ids version 1 keeps.
func (s *Sampler) fit() float64 {
	logs := s.likeliestLogs(fitted)
	products, squares := 0.0, 0.0
	for i := 0; i+1 < len(logs); i++ {
		t := kernels.Log64(float64(i+2) / float64(i+1))
		products += float64(t * (logs[i] - logs[i+1]))
		squares += float64(t * t)
	}
	if !(products > 0) { // there is one id, or all are equally likely
		return math.Inf(1)
	}
	slope := products / squares
	e, n := slope-1, float64(s.whole)
	share := 1 / kernels.Log64(n) // the limit as e approaches 0
	if math.Abs(e) > 1e-9 {
		share = e / (1 - power(n, -e))
	}
	return power(share*kernels.Exp64(s.State.mu*math.Ln2), 1/slope)
}

// likeliestLogs returns the logarithms of the weights of the n likeliest ids, the likeliest first.
func (s *Sampler) likeliestLogs(n int) []float64 {
	s.nearness = s.nearness[:0]
	for _, place := range Likeliest(s.scores, n) {
		s.nearness = append(s.nearness, s.logWeight(place))
	}
	return s.nearness
}

// takeLikeliest keeps the k ids of the largest scores, and computes their weights.
func (s *Sampler) takeLikeliest(k int) {
	if k < len(s.scores) {
		least := s.kthLargest(s.scores, k)
		s.weighed = false
		s.keep(s.atLeast(s.scores, least))
	}
	s.keepLikeliest(k)
	s.need()
}

// follow updates mu after the token at a place was drawn.
func (s *Sampler) follow(place int) {
	m := &s.params.Mirostat
	surprise := -kernels.Log64(s.weights[place]/s.mass) / math.Ln2
	s.State.mu -= float64(m.Eta * (surprise - m.Tau))
}
