package sample

// Steps that remember: Mirostat's limit, the mean of adaptive-p, XTC's own random numbers.

import (
	"math"

	"picogpt/internal/option"
	"picogpt/kernels"
)

// Mirostat (Basu and others, arXiv 2007.14966) is a limit that moves, so that the surprise of the
// drawn tokens stays near a target. The definitions are llama.cpp's. It replaces all filters, and
// follows the temperature.
type Mirostat struct {
	Version int     // 1 or 2; 0 means off
	Tau     float64 // the target, in bits; 5 is usual
	Eta     float64 // how fast the limit follows; 0.1 is usual
}

var mirostatStep = step{
	name: "mirostat", kind: instead, do: (*Sampler).applyMirostat, drew: (*Sampler).follow,
	on:    func(p *Params) bool { return p.Mirostat.Version != 0 },
	begin: func(p *Params, s *State) { s.mu = 2 * p.Mirostat.Tau },
	table: mirostatTable,
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

// applyMirostat removes ids in place of the filters. Version 2 keeps those whose surprise is at
// most mu, or the likeliest if there are none.
func (s *Sampler) applyMirostat() {
	if s.params.Mirostat.Version == 1 {
		s.applyMirostat1()
		return
	}
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
	if k := s.fit(); k < float64(len(s.scores)) {
		n := max(1, int(k))
		s.keepTop(n)
		s.keepLikeliest(n)
		s.weigh()
	}
}

// fit returns how many ids version 1 keeps.
func (s *Sampler) fit() float64 {
	logs := s.nearness[:0] // of the weights
	for _, place := range Likeliest(s.scores, fitted) {
		logs = append(logs, s.logWeight(place))
	}
	s.nearness = logs
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

// follow updates mu after the token at a place was drawn.
func (s *Sampler) follow(place int) {
	m := &s.params.Mirostat
	surprise := -kernels.Log64(s.weights[place]/s.mass) / math.Ln2
	s.State.mu -= float64(m.Eta * (surprise - m.Tau))
}

// Adaptive is adaptive-p (llama.cpp): after all filters, it makes tokens likely whose probability is
// near a target, and moves the target so that the mean probability of the drawn tokens stays near
// the requested one.
type Adaptive struct {
	Target float64 // the mean probability of the drawn tokens, in [0, 1]; 0 means off
	Decay  float64 // the weight of a token relative to the next, in [0, 0.99]; 0.9 is usual
}

var adaptiveStep = step{
	name: "adaptive-p", kind: last, do: (*Sampler).applyAdaptive, table: adaptiveTable,
	on: func(p *Params) bool { return p.Adaptive.Target > 0 },
	begin: func(p *Params, s *State) {
		n := 1 / (1 - p.Adaptive.Decay)
		s.drawn = average{sum: p.Adaptive.Target * n, n: n}
	},
	drew: func(s *Sampler, place int) {
		s.State.drawn.add(s.nearness[place], s.params.Adaptive.Decay)
	},
}

func adaptiveTable(p *Params) []option.Option {
	a := &p.Adaptive
	return []option.Option{{
		Name: "adaptive target", Value: &a.Target, Range: option.Range{To: 1},
		Want: "a number from 0 (off) to 1", Default: "-1",
		Settle: func() { // a user writes a number below 0 for off, and 0 for the least probability
			leastForZero(&a.Target)
			a.Target = max(0, a.Target)
		},
		Flag: option.Flag{Name: "adaptive-target", Holder: "P", Group: option.Filters,
			Range: option.Range{From: -1, To: 1}, Want: "-1 (off) or a number from 0 to 1",
			Help: "make tokens likely whose probability is near P, so that this is the mean of " +
				"what is drawn; wants --min-p too; -1 is off"},
		Field: option.Field{Name: "adaptive_target", Range: option.Range{From: -1, To: 1}},
		Setting: option.Setting{Group: "More filters", Label: "Adaptive-p, target",
			Min: -1, Max: 1, Step: 0.01,
			Help: "Tokens are likely whose probability is near this. Wants Min-p too. -1 is off."},
	}, {
		Name: "adaptive decay", Value: &a.Decay, Range: option.Range{To: 0.99},
		Want: "a number from 0 to 0.99", Default: "0.9", With: []string{"adaptive-target"},
		Flag: option.Flag{Name: "adaptive-decay", Holder: "D", Group: option.Filters,
			Help: "how much of what was drawn before counts for that: near 0 only the last token"},
		Field: option.Field{Name: "adaptive_decay"},
		Setting: option.Setting{Group: "More filters", Label: "Adaptive-p, decay",
			Max: 0.99, Step: 0.01, Help: "How much of the tokens before counts for the mean."},
	}}
}

// An average is the mean of probabilities, of which older ones weigh less.
type average struct{ sum, n float64 }

func (a *average) add(p, decay float64) {
	a.sum, a.n = p+float64(decay*a.sum), 1+float64(decay*a.n)
}

// applyAdaptive replaces the score of each id according to the distance of its probability from the
// target of this token. It keeps the probabilities for drew.
func (s *Sampler) applyAdaptive() {
	s.ready()
	s.nearness = resized(s.nearness, len(s.weights))
	target := max(0, min(1, float64(2*s.params.Adaptive.Target)-s.State.drawn.sum/s.State.drawn.n))
	for i, weight := range s.weights {
		s.nearness[i] = weight / s.mass
		x := math.Abs(s.nearness[i]-target) / 0.3 // the width of the peak
		s.scores[i] = 5 - 10*float64(x*x)/(1+x)
	}
	s.largest, s.by, s.weighed = s.maximum(s.scores), 1, false
}

// xtcStep is XTC, "exclude top choices" (text-generation-webui, llama.cpp): with some probability,
// of the ids that are likely enough all but the least likely are removed.
var xtcStep = step{
	name: "xtc", kind: filter, do: (*Sampler).applyXTC, table: xtcTable,
	on: func(p *Params) bool { return p.XTCProbability != 0 },
}

func xtcTable(p *Params) []option.Option {
	return []option.Option{{
		Name: "XTC probability", Value: &p.XTCProbability, Range: option.Range{To: 1},
		Want: "a number from 0 to 1", Default: "0",
		Idle: func() string {
			if p.XTCThreshold > 0.5 {
				return "above --xtc-threshold 0.5 nothing is left out"
			}
			return ""
		},
		Flag: option.Flag{Name: "xtc-probability", Holder: "P", Group: option.Filters,
			Help: "how often the likeliest tokens are left out, all but the last of those above " +
				"the threshold; 0 is off"},
		Field: option.Field{Name: "xtc_probability"},
		Setting: option.Setting{Group: "More filters", Label: "XTC, how often", Max: 1, Step: 0.05,
			Help: "So often, all tokens above the threshold but the least likely of them go. " +
				"0 is off."},
	}, {
		Name: "XTC threshold", Value: &p.XTCThreshold, Range: option.Range{To: 1},
		Want: "a number from 0 to 1", Default: "0.1", With: []string{"xtc-probability"},
		Flag: option.Flag{Name: "xtc-threshold", Holder: "P", Group: option.Filters,
			Help: "how likely a token must be for that; above 0.5 nothing is left out"},
		Field: option.Field{Name: "xtc_threshold"},
		Setting: option.Setting{Group: "More filters", Label: "XTC, threshold",
			Max: 0.5, Step: 0.01, Help: "How likely a token must be for XTC to take it away."},
	}}
}

// applyXTC draws a random number for this position, and removes ids if that says so.
func (s *Sampler) applyXTC() {
	o := &s.params
	coin := uniform(&s.State.coins) // one for each position, whether ids are removed or not
	if coin >= o.XTCProbability || o.XTCThreshold > 0.5 {
		return
	}
	s.ready()
	likely := s.atLeast(s.weights, o.XTCThreshold*s.mass)
	if len(likely) < 2 {
		return
	}
	// Of equal ids the lowest counts as the likeliest, so that the highest stays.
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
