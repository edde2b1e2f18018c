package sample

// The temperature, which is fixed or follows the entropy.

import (
	"math"

	"picogpt/internal/option"
	"picogpt/kernels"
)

var temperatureStep = step{
	name: "temperature", also: []string{"temp", "dynatemp"}, kind: ofHeat,
	do: (*Sampler).setTemperature, table: temperatureTable,
	on: func(p *Params) bool { return p.Temperature != 1 || p.TempRange != 0 },
}

func temperatureTable(p *Params) []option.Option {
	const want = "0 or a finite number above it"
	return []option.Option{{
		Name: "temperature", Value: &p.Temperature, Want: "0 (greedy) or a finite number above it",
		Default: "1", Usual: "0.8", In: option.Corpus, Saved: []string{"temperature", "do_sample"},
		Flag: option.Flag{Name: "temp", Aliases: []string{"temperature"}, Holder: "T",
			Group: option.WhichOnes, Help: "temperature: 0 always takes the likeliest token, " +
				"higher values give more variety"},
		Field: option.Field{Name: "temperature", Range: option.Range{To: 2}},
		Setting: option.Setting{Group: "Completion", Label: "Temperature", Max: 2, Step: 0.05,
			Help: "0 always takes the likeliest token, 1 draws as the model thinks, more is wilder."},
	}, {
		Name: "temperature range", Value: &p.TempRange, Want: want, Default: "0", Drawn: true,
		Flag: option.Flag{Name: "dynatemp-range", Holder: "R", Group: option.Filters,
			Help: "let the temperature go from T-R, where the model is sure, to T+R, where it is " +
				"not; 0 is off"},
		Field: option.Field{Name: "dynatemp_range", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "More filters", Label: "Temperature range",
			Max: 2, Step: 0.05,
			Help: "Less temperature where the model is sure, more where it is not. 0 is off."},
	}, {
		Name: "temperature exponent", Value: &p.TempExponent, Want: want, Default: "1",
		With: []string{"dynatemp-range"},
		Flag: option.Flag{Name: "dynatemp-exponent", Holder: "E", Group: option.Filters,
			Others: "dynatemp-exp", Help: "how the temperature follows the entropy: its share of " +
				"the greatest possible one, to the power of E"},
		Field: option.Field{Name: "dynatemp_exponent", Range: option.Range{To: option.MostNumber}},
		Setting: option.Setting{Group: "More filters", Label: "Temperature exponent",
			Max: 10, Step: 0.1, Slider: 4,
			Help: "How the temperature follows the entropy. 1 is in proportion."},
	}}
}

// setTemperature sets the temperature that the weights are computed at.
func (s *Sampler) setTemperature() {
	s.by, s.weighed = s.params.Temperature, false
	if s.params.TempRange == 0 {
		return
	}
	if s.by = s.dynamic(); s.by == 0 {
		s.by = 1
		s.keepLikeliest(1)
	}
}

// divide divides the scores by a temperature that came before, for a step that adds to them.
func (s *Sampler) divide() {
	if s.by == 1 {
		return
	}
	size := 0.0
	for _, x := range s.scores {
		if !math.IsInf(x, -1) {
			size = max(size, math.Abs(x))
		}
	}
	const most = 1e300 // bounds quotients; temperatures that reach it leave only the likeliest id
	by := max(s.by, size/most)
	for i := range s.scores {
		s.scores[i] /= by
	}
	s.largest, s.by, s.weighed = s.largest/by, 1, false
}

// dynamic returns the temperature that follows from the entropy (llama.cpp's dynatemp).
func (s *Sampler) dynamic() float64 {
	o := &s.params
	s.by = 1
	s.ready()
	s.weighed = false
	if len(s.scores) < 2 {
		return o.Temperature
	}
	entropy, _ := s.entropy()
	low, high := max(0, o.Temperature-o.TempRange), min(o.Temperature+o.TempRange, math.MaxFloat64)
	share := max(0, min(1, entropy/kernels.Log64(float64(len(s.scores)))))
	return low + float64((high-low)*power(share, o.TempExponent))
}

// power returns x to the power of y, for x above 0, or for x = 0 and y of 0 or more. Unlike
// math.Pow, it returns the same bits everywhere.
func power(x, y float64) float64 {
	switch {
	case y == 0 || x == 1:
		return 1
	case x == 0:
		return 0
	}
	return kernels.Exp64(float64(y * kernels.Log64(x)))
}
