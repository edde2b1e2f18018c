package sample

// The steps of a sampler: all of them, their order, and whose definitions they follow.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"picogpt/internal/option"
)

// A step is one way to change what may be drawn next, or how likely it is.
type step struct {
	name string
	kind kind
	also string // other names of it in a list of samplers, with spaces between

	table func(p *Params) []option.Option // what can be chosen of it, the first of which turns it on
	on    func(p *Params) bool
	do    func(s *Sampler)

	// How what it remembers in State begins, and what it makes of the place that was drawn. Nil for
	// most.
	begin func(p *Params, s *State)
	drew  func(s *Sampler, place int)
}

// A kind says where a step may stand.
type kind int

const (
	first     kind = iota // before all others, whatever the order is
	ofContext             // may be listed; looks at the tokens before
	ofLength              // after those that look at the context, and before what follows here
	ofHeat                // may be listed; sets the temperature
	filter                // may be listed; removes ids
	instead               // takes the place of all filters, after the temperature
)

// steps are all steps but those that shut ids, in the order in which help lists their options.
func steps() []step {
	return []step{
		temperatureStep(), topKStep(), topPStep(), minPStep(), typicalStep(), epsilonStep(),
		etaStep(), topHStep(), topNSigmaStep(), xtcStep(), mirostatStep(),
		penaltiesStep(), noRepeatStep(), dryStep(), biasStep(), minTokensStep(), guidanceStep(),
		lengthDecayStep(),
	}
}

// listed reports whether Params.Samplers may name the step.
func (s *step) listed() bool { return s.kind == ofContext || s.kind == ofHeat || s.kind == filter }

// The orders with a name.
const (
	samplersHF       = "hf"
	samplersLlamaCpp = "llama.cpp"
)

// The orders of what may be listed: Hugging Face's, and llama.cpp's, with the filters that it does
// not have before XTC.
const (
	hfOrder = "penalties,dry,no-repeat-ngram," +
		"temperature,top-n-sigma,top-h,top-k,top-p,min-p,typical,epsilon,eta,xtc"
	llamaCppOrder = "penalties,dry,no-repeat-ngram," +
		"top-n-sigma,top-k,typical,top-p,min-p,top-h,epsilon,eta,xtc,temperature"
)

// A State is what one choice leaves to the next: where the random numbers are, what steps remember,
// and how long the text is. It is a value, and its copies are independent.
type State struct {
	random    rand.PCG
	coins     rand.PCG // XTC's
	mu        float64  // Mirostat's cut, in bits
	Generated int      // tokens of the context that count as generated, the newest
}

// After returns the state after a token that was not drawn.
func (s State) After() State {
	s.Generated++
	return s
}

// SamplerNames returns the names that Params.Samplers may list, in Hugging Face's order.
func SamplerNames() []string { return strings.Split(hfOrder, ",") }

// samplerList returns the steps that Params.Samplers names, in order.
func (p *Params) samplerList() ([]step, error) {
	all, list := steps(), p.Samplers
	switch list {
	case "", samplersHF:
		list = hfOrder
	case samplersLlamaCpp:
		list = llamaCppOrder
	}
	var found []step
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' }) {
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		i := slices.IndexFunc(all, func(s step) bool {
			return s.listed() && (s.name == name || slices.Contains(strings.Fields(s.also), name))
		})
		switch {
		case i < 0:
			return nil, fmt.Errorf(": %q is none, want %s, %s or a list of %s", name, samplersHF,
				samplersLlamaCpp, strings.Join(SamplerNames(), ", "))
		case slices.ContainsFunc(found, func(s step) bool { return s.name == all[i].name }):
			return nil, fmt.Errorf(": %s is in the list twice, want it once", all[i].name)
		}
		found = append(found, all[i])
	}
	return found, nil
}

// Lists reports whether the samplers apply the step of that name.
func (p *Params) Lists(name string) bool {
	list, _ := p.samplerList()
	return slices.ContainsFunc(list, func(s step) bool { return s.name == name })
}

// late takes a step that looks at the context where filters came before it. What they know of the
// scores holds no more: -Inf is the largest where the step leaves no id.
func (s *Sampler) late(do func(s *Sampler)) {
	do(s)
	s.largest, s.maxima, s.weighed = s.maximum(s.scores), s.maxima[:0], false
}

// plan fills in the steps that are on.
func (s *Sampler) plan(p *Params) error {
	list, err := p.samplerList()
	if err != nil {
		return err
	}
	on := slices.DeleteFunc(steps(), func(s step) bool { return !s.on(p) })
	of := func(kind kind) []step {
		return slices.DeleteFunc(slices.Clone(on), func(s step) bool { return s.kind != kind })
	}
	end := 0 // of those that come before the filters, whether anything is drawn or not
	for end < len(list) && list[end].kind == ofContext {
		end++
	}
	late := slices.Clone(list[end:])
	if others := of(instead); len(others) > 0 {
		late = slices.DeleteFunc(late, func(s step) bool { return s.kind == filter })
		late = append(late, others...)
	}
	if p.Temperature == 0 { // no filter comes before them
		late = slices.DeleteFunc(late, func(s step) bool { return s.kind != ofContext })
		list, end, late = slices.Concat(list[:end], late), end+len(late), nil
	}
	for i, step := range late {
		if step.kind == ofContext {
			late[i].do = func(s *Sampler) { s.late(step.do) }
		}
	}
	s.before = slices.DeleteFunc(slices.Concat(of(first), list[:end], of(ofLength)),
		func(s step) bool { return !s.on(p) })
	s.steps = slices.DeleteFunc(late, func(s step) bool { return !s.on(p) })
	for _, step := range s.steps {
		if step.begin != nil {
			step.begin(p, &s.State)
		}
		if step.drew != nil {
			s.drew = append(s.drew, step.drew)
		}
	}
	return nil
}
