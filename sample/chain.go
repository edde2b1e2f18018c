package sample

// The steps of a sampler: their table, their order, and the error where they leave no id.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"picogpt/internal/option"
)

// A step changes which ids may be drawn, or how likely they are.
type step struct {
	name string
	kind kind
	also []string // its other names in a list of samplers

	table func(p *Params) []option.Option // its options; the first turns it on
	on    func(p *Params) bool
	do    func(s *Sampler)

	// begin sets what the step remembers in State; drew updates it, given the place that was drawn.
	// Nil for most steps.
	begin func(p *Params, s *State)
	drew  func(s *Sampler, place int)
}

// A kind says where in the order a step may stand.
type kind int

const (
	ahead     kind = iota // before all others: sees the ids that may not be drawn too
	first                 // then, in the order of steps
	ofContext             // may be listed; depends on the tokens of the context
	ofLength              // after those of the context, before the temperature
	ofHeat                // may be listed; sets the temperature
	filter                // may be listed; removes ids
	instead               // replaces all filters, after the temperature
	last                  // after all others, unless one replaces the filters
)

// steps returns all steps but those that mask ids, in the order in which help lists their options.
func steps() []step {
	return []step{
		temperatureStep, topKStep, topPStep, minPStep, typicalStep, epsilonStep,
		etaStep, topHStep, topNSigmaStep, xtcStep, mirostatStep, adaptiveStep,
		penaltiesStep, noRepeatStep, dryStep, biasStep, minTokensStep, guidanceStep,
		sequenceBiasStep, banIDsStep, lengthDecayStep,
	}
}

// listed reports whether Params.Samplers may name the step.
func (s *step) listed() bool { return s.kind == ofContext || s.kind == ofHeat || s.kind == filter }

// Orders that have a name.
const (
	samplersHF       = "hf"
	samplersLlamaCpp = "llama.cpp"
)

// The steps of the named orders. That of llama.cpp has the filters that llama.cpp lacks before XTC.
const (
	hfOrder = "penalties,dry,no-repeat-ngram," +
		"temperature,top-n-sigma,top-h,top-k,top-p,min-p,typical,epsilon,eta,xtc"
	llamaCppOrder = "penalties,dry,no-repeat-ngram," +
		"top-n-sigma,top-k,typical,top-p,min-p,top-h,epsilon,eta,xtc,temperature"
)

// A State holds what one choice leaves to the next: the random number generators, what steps
// remember, and how many tokens are generated. It is a value: its copies are independent.
type State struct {
	random    rand.PCG
	coins     rand.PCG // XTC's random numbers
	mu        float64  // Mirostat's limit of the surprise, in bits
	drawn     average  // of the probabilities of what was drawn, for adaptive-p
	Generated int      // how many of the newest tokens of the context count as generated
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
	found := make([]step, 0, len(all))
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' }) {
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		i := slices.IndexFunc(all, func(s step) bool {
			return s.listed() && (s.name == name || slices.Contains(s.also, name))
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

// Lists reports whether the order of the samplers has the step of that name.
func (p *Params) Lists(name string) bool {
	list, _ := p.samplerList()
	return slices.ContainsFunc(list, func(s step) bool { return s.name == name })
}

// late applies a step of the context after filters. What they know of the scores is no longer true.
// Where the step leaves no id, the largest score is -Inf.
func (s *Sampler) late(do func(s *Sampler)) {
	do(s)
	s.largest, s.maxima, s.weighed = s.maximum(s.scores), s.maxima[:0], false
}

// plan fills in the steps that are on, in order.
func (s *Sampler) plan(p *Params) error {
	list, err := p.samplerList()
	if err != nil {
		return err
	}
	on := slices.DeleteFunc(steps(), func(s step) bool { return !s.on(p) })
	for i := range on {
		if on[i].kind == ahead && p.Earlier {
			on[i].kind = first
		}
	}
	of := func(kind kind) []step {
		return slices.DeleteFunc(slices.Clone(on), func(s step) bool { return s.kind != kind })
	}
	end := 0 // of the steps that also apply where nothing is drawn
	for end < len(list) && list[end].kind == ofContext {
		end++
	}
	late := slices.Clone(list[end:])
	if others := of(instead); len(others) > 0 {
		late = slices.DeleteFunc(late, func(s step) bool { return s.kind == filter })
		late = append(late, others...)
	} else {
		late = append(late, of(last)...)
	}
	if p.Temperature == 0 { // greedy: no filter precedes them
		late = slices.DeleteFunc(late, func(s step) bool { return s.kind != ofContext })
		list, end, late = slices.Concat(list[:end], late), end+len(late), nil
	}
	for i, step := range late {
		if step.kind == ofContext {
			late[i].do = func(s *Sampler) { s.late(step.do) }
		}
	}
	s.ahead = of(ahead)
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

// A NoIDError says that the options leave no id to draw.
type NoIDError struct {
	Position int // of the logits, in the context

	// Took names the steps that removed ids, in their order: names of Steps, "vocabulary" for ids
	// that it does not have, "constraint", "ban" for ids that would begin a banned string, and
	// "allowed tokens".
	Took []string
}

func (e *NoIDError) Error() string {
	s := fmt.Sprintf("logits after position %d: want at least one id to draw, found none", e.Position)
	switch last := len(e.Took) - 1; last {
	case -1:
		return s
	case 0:
		return s + ": " + e.Took[0] + " leaves none"
	default:
		return s + ": " + strings.Join(e.Took[:last], ", ") + " and " + e.Took[last] + " leave none"
	}
}

// noID returns the error where no id is left: it applies the steps again, and counts the ids after
// each.
func (s *Sampler) noID(from Row) error {
	before, e := s.State, &NoIDError{Position: len(s.context) - 1}
	s.load(from, s.context)
	left := len(s.scores)
	take := func(step step) {
		step.do(s)
		n := s.left()
		if n < left || from.IDs != nil && step.name == "top-k" { // the row lacks those
			e.Took = append(e.Took, step.name)
		}
		left = n
	}
	for _, step := range slices.Concat(s.ahead, maskSteps, s.before) {
		take(step)
	}
	if left > 0 {
		s.largest, s.weighed, s.weights = s.scores[s.likeliest()], false, s.weights[:0]
	}
	for i := 0; i < len(s.steps) && left > 0; i++ {
		take(s.steps[i])
	}
	s.State = before
	return e
}
