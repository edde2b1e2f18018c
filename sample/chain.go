package sample

// The order of a sampler's steps, and whose definitions they follow.

import (
	"fmt"
	"slices"
	"strings"
)

// A samplerStep changes what may be drawn next, or how likely it is.
type step struct {
	name string
	on   func(o *Params) bool
	do   func(s *Sampler)
}

// firstSteps come before all others, whatever the order is.
func firstSteps() []step {
	return []step{
		{"logit-bias", func(o *Params) bool { return len(o.Bias) > 0 }, (*Sampler).addBiases},
		{"guidance", func(o *Params) bool { return o.Guidance.On() }, (*Sampler).guide},
	}
}

// contextSteps look at the tokens before. They may be named in Params.Samplers, and stand in
// Hugging Face's order.
func contextSteps() []step {
	return []step{
		{"penalties", func(o *Params) bool {
			return o.RepeatPenalty != 0 && o.RepeatPenalty != 1 || o.FrequencyPenalty != 0 ||
				o.PresencePenalty != 0
		}, (*Sampler).applyPenalties},
		{"dry", func(o *Params) bool { return o.DRY.Multiplier != 0 && o.DRY.Base >= 1 },
			(*Sampler).applyDRY},
		{"no-repeat-ngram", func(o *Params) bool { return o.NoRepeatNgram > 0 },
			(*Sampler).shutNgrams},
	}
}

// lengthSteps come after the steps that look at the context, and before the filters.
func lengthSteps() []step {
	return []step{
		{"min-tokens", func(o *Params) bool { return o.MinTokens > 0 }, (*Sampler).shutEnds},
		{"length-decay", func(o *Params) bool {
			return o.LengthDecay.Factor != 0 && o.LengthDecay.Factor != 1
		}, (*Sampler).decayLength},
	}
}

// filterSteps decide what may be drawn. They may be named in Params.Samplers, and stand in Hugging
// Face's order.
func filterSteps() []step {
	return []step{
		{"temperature", func(o *Params) bool { return o.Temperature != 1 || o.TempRange != 0 },
			(*Sampler).setTemperature},
		{"top-n-sigma", func(o *Params) bool { return o.TopNSigma != 0 }, (*Sampler).keepTopNSigma},
		{"top-h", func(o *Params) bool { return o.TopH != 0 }, (*Sampler).keepTopH},
		{"top-k", func(o *Params) bool { return o.TopK != 0 }, (*Sampler).keepTopK},
		{"top-p", func(o *Params) bool { return o.TopP != 0 && o.TopP != 1 }, (*Sampler).keepTopP},
		{"min-p", func(o *Params) bool { return o.MinP != 0 }, (*Sampler).keepMinP},
		{"typical", func(o *Params) bool { return o.Typical != 0 && o.Typical != 1 },
			(*Sampler).keepTypical},
		{"epsilon", func(o *Params) bool { return o.Epsilon != 0 }, (*Sampler).keepEpsilon},
		{"eta", func(o *Params) bool { return o.Eta != 0 }, (*Sampler).keepEta},
		{"xtc", func(o *Params) bool { return o.XTCProbability != 0 }, (*Sampler).applyXTC},
	}
}

// The orders with a name.
const (
	samplersHF       = "hf"
	samplersLlamaCpp = "llama.cpp"
)

// llamaCppOrder is llama.cpp's, with the filters that it does not have before XTC.
const llamaCppOrder = "penalties,dry,no-repeat-ngram," +
	"top-n-sigma,top-k,typical,top-p,min-p,top-h,epsilon,eta,xtc,temperature"

// otherNames are what Hugging Face and llama.cpp call some steps.
func otherNames() map[string]string {
	return map[string]string{
		"temp": "temperature", "dynatemp": "temperature", "top-nsigma": "top-n-sigma",
		"typ-p": "typical", "typical-p": "typical", "epsilon-cutoff": "epsilon",
		"eta-cutoff": "eta", "repeat-penalty": "penalties", "repetition-penalty": "penalties",
		"frequency-penalty": "penalties", "presence-penalty": "penalties",
		"no-repeat-ngram-size": "no-repeat-ngram",
	}
}

// SamplerNames returns the names that Params.Samplers may list, in Hugging Face's order.
func SamplerNames() []string {
	var names []string
	for _, s := range slices.Concat(contextSteps(), filterSteps()) {
		names = append(names, s.name)
	}
	return names
}

// samplerList returns the steps that Params.Samplers names, in order.
func (o *Params) samplerList() ([]step, error) {
	all, list := slices.Concat(contextSteps(), filterSteps()), o.Samplers
	switch list {
	case "", samplersHF:
		return all, nil
	case samplersLlamaCpp:
		list = llamaCppOrder
	}
	var steps []step
	for _, name := range splitNames(list) {
		i := slices.IndexFunc(all, func(s step) bool { return s.name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("samplers: %q is none, want %s, %s or a list of %s", name,
				samplersHF, samplersLlamaCpp, strings.Join(SamplerNames(), ", "))
		case slices.ContainsFunc(steps, func(s step) bool { return s.name == name }):
			return nil, fmt.Errorf("samplers: %s is in the list twice, want it once", name)
		}
		steps = append(steps, all[i])
	}
	return steps, nil
}

// splitNames returns the names in a list, as SamplerNames has them.
func splitNames(list string) (names []string) {
	other := otherNames()
	for name := range strings.FieldsFuncSeq(list, func(r rune) bool { return r == ',' || r == ';' }) {
		name = strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
		if proper, ok := other[name]; ok {
			name = proper
		}
		names = append(names, name)
	}
	return names
}

// Lists reports whether the samplers apply a filter or the temperature of that name.
func (o *Params) Lists(name string) bool {
	steps, _ := o.samplerList()
	return slices.ContainsFunc(steps, func(s step) bool { return s.name == name })
}

// late takes a step that looks at the context where filters came before it. What they know of the
// scores holds no more: -Inf is the largest where the step leaves no id.
func (s *Sampler) late(do func(s *Sampler)) {
	do(s)
	s.largest, s.maxima, s.weighed = s.maximum(s.scores), s.maxima[:0], false
}

// plan fills in the steps that the options turn on.
func (s *Sampler) plan(o *Params) error {
	list, err := o.samplerList()
	if err != nil {
		return err
	}
	context := contextSteps()
	ofContext := func(s step) bool {
		return slices.ContainsFunc(context, func(c step) bool { return c.name == s.name })
	}
	filters := slices.IndexFunc(list, func(s step) bool { return !ofContext(s) })
	if filters < 0 {
		filters = len(list)
	}
	late := slices.Clone(list[filters:])
	if v := o.Mirostat.Version; v != 0 {
		late = slices.DeleteFunc(late, func(s step) bool {
			return !ofContext(s) && s.name != "temperature"
		})
		cut := (*Sampler).applyMirostat2
		if v == 1 {
			cut = (*Sampler).applyMirostat1
		}
		late = append(late, step{"mirostat", func(*Params) bool { return true }, cut})
	}
	if o.Temperature == 0 { // no filter comes before them
		late = slices.DeleteFunc(late, func(s step) bool { return !ofContext(s) })
		list, late = slices.Concat(list[:filters], late), nil
		filters = len(list)
	}
	for i, step := range late {
		if ofContext(step) {
			late[i].do = func(s *Sampler) { s.late(step.do) }
		}
	}
	on := func(steps []step) []step {
		return slices.DeleteFunc(steps, func(s step) bool { return !s.on(o) })
	}
	s.before = on(slices.Concat(firstSteps(), list[:filters], lengthSteps()))
	s.steps = on(late)
	return nil
}
