package sample

// The length of a text: the ids that end it are removed at first, or become likelier later.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
)

var minTokensStep = step{
	name: "min-tokens", kind: ofLength, do: (*Sampler).shutEnds,
	on: func(p *Params) bool { return p.MinTokens > 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "min tokens", Value: &p.MinTokens, Want: "0 (off) or more", Default: "0",
			Saved: []string{"min_new_tokens"},
			Flag: option.Flag{Name: "min-tokens", Holder: "N", Group: option.Wanted,
				Others: "min-length min-new-tokens min-len",
				Help:   "do not end the text before N new tokens"},
			Field: option.Field{Name: "min_tokens", Range: option.Range{To: option.Most}},
			Setting: option.Setting{Group: "End", Label: "At least",
				Max: 4096, Step: 1, Slider: 256,
				Help: "The text does not end before so many new tokens."},
		}}
	},
}

var lengthDecayStep = step{
	name: "length-decay", kind: ofLength, do: (*Sampler).decayLength,
	on: func(p *Params) bool { return p.LengthDecay.Factor != 0 && p.LengthDecay.Factor != 1 },
	table: func(p *Params) []option.Option {
		d := &p.LengthDecay
		return []option.Option{{
			Name: "length decay", Value: d,
			Check: func() string {
				switch {
				case d.Start < 0:
					return fmt.Sprintf(": start %d: want 0 or more", d.Start)
				case !(0 <= d.Factor && d.Factor <= math.MaxFloat64):
					return fmt.Sprintf(": factor %v: want 0 (off) or a finite number above it",
						d.Factor)
				}
				return ""
			},
			Flag: option.Flag{Name: "length-decay", Holder: "START,FACTOR", Group: option.Wanted,
				Others: "exponential-decay-length-penalty",
				Help: "from START new tokens on, make the end likelier by the factor at each " +
					"token"},
		}}
	},
}

// Set reads START,FACTOR.
func (d *LengthDecay) Set(text string) error {
	start, factor, ok := strings.Cut(text, ",")
	n, err := strconv.Atoi(strings.TrimSpace(start))
	x, err2 := strconv.ParseFloat(strings.TrimSpace(factor), 64)
	if !ok || err != nil || err2 != nil || !(x > 0) || math.IsInf(x, 1) || n < 0 {
		return fmt.Errorf(" %s: want START,FACTOR, such as 20,1.1: a whole number and a number "+
			"above 0", quote.Short(text, 40))
	}
	*d = LengthDecay{Start: n, Factor: x}
	return nil
}

// String returns START,FACTOR, or "" where it is off.
func (d *LengthDecay) String() string {
	if *d == (LengthDecay{}) {
		return ""
	}
	return fmt.Sprintf("%d,%v", d.Start, d.Factor)
}

// shutEnds removes the ids that end the text while it has fewer than MinTokens new tokens.
func (s *Sampler) shutEnds() {
	if s.State.Generated < s.params.MinTokens {
		s.shut(s.ends...)
	}
}

// A LengthDecay makes the ids that end the text likelier from the Start-th new token on: n tokens
// later, the logit x gains |x|·(Factor^n - 1). A Factor of 0 or 1 is off; below 1 the ids become
// less likely.
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
	const most = 1e200 // keeps the scores finite
	gain := min(power(d.Factor, float64(n)), most) - 1
	for _, id := range s.ends {
		if place, ok := s.place(id); ok && !math.IsInf(s.scores[place], -1) {
			x := s.scores[place]
			s.scores[place] = min(x+float64(math.Abs(x)*gain), most)
		}
	}
}
