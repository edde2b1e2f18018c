package decode

// The order of a sampler's steps, and whose definitions they follow.

import (
	"fmt"
	"slices"
	"strings"
)

// A samplerStep changes what may be drawn next, or how likely it is.
type samplerStep struct {
	name string
	on   func(o *Options) bool
	do   func(s *Sampler)
}

// contextSteps come before every filter, whatever the order is.
func contextSteps() []samplerStep {
	return []samplerStep{}
}

// listedSteps may be named in Options.Samplers. They stand in Hugging Face's order.
func listedSteps() []samplerStep {
	return []samplerStep{
		{"temperature", func(o *Options) bool { return o.Temperature != 1 || o.TempRange != 0 },
			(*Sampler).heat},
		{"top-n-sigma", func(o *Options) bool { return o.TopNSigma != 0 }, (*Sampler).keepTopNSigma},
		{"top-h", func(o *Options) bool { return o.TopH != 0 }, (*Sampler).keepTopH},
		{"top-k", func(o *Options) bool { return o.TopK != 0 }, (*Sampler).keepTopK},
		{"top-p", func(o *Options) bool { return o.TopP != 0 && o.TopP != 1 }, (*Sampler).keepTopP},
		{"min-p", func(o *Options) bool { return o.MinP != 0 }, (*Sampler).keepMinP},
		{"typical", func(o *Options) bool { return o.Typical != 0 && o.Typical != 1 },
			(*Sampler).keepTypical},
		{"epsilon", func(o *Options) bool { return o.Epsilon != 0 }, (*Sampler).keepEpsilon},
		{"eta", func(o *Options) bool { return o.Eta != 0 }, (*Sampler).keepEta},
		{"xtc", func(o *Options) bool { return o.XTCProbability != 0 }, (*Sampler).exclude},
	}
}

// The orders with a name.
const (
	samplersHF       = "hf"
	samplersLlamaCpp = "llama.cpp"
)

// llamaCppOrder is llama.cpp's, with the filters that it does not have before XTC.
const llamaCppOrder = "top-n-sigma,top-k,typical,top-p,min-p,top-h,epsilon,eta,xtc,temperature"

// otherNames are what Hugging Face and llama.cpp call some steps.
func otherNames() map[string]string {
	return map[string]string{
		"temp": "temperature", "dynatemp": "temperature", "top-nsigma": "top-n-sigma",
		"typ-p": "typical", "typical-p": "typical", "epsilon-cutoff": "epsilon",
		"eta-cutoff": "eta",
	}
}

// SamplerNames returns the names that Options.Samplers may list, in Hugging Face's order.
func SamplerNames() []string {
	var names []string
	for _, s := range listedSteps() {
		names = append(names, s.name)
	}
	return names
}

// samplerList returns the steps that Options.Samplers names, in order.
func (o *Options) samplerList() ([]samplerStep, error) {
	all, list := listedSteps(), o.Samplers
	switch list {
	case "", samplersHF:
		return all, nil
	case samplersLlamaCpp:
		list = llamaCppOrder
	}
	var steps []samplerStep
	for _, name := range splitNames(list) {
		i := slices.IndexFunc(all, func(s samplerStep) bool { return s.name == name })
		switch {
		case i < 0:
			return nil, fmt.Errorf("samplers: %q is none, want %s, %s or a list of %s", name,
				samplersHF, samplersLlamaCpp, strings.Join(SamplerNames(), ", "))
		case slices.ContainsFunc(steps, func(s samplerStep) bool { return s.name == name }):
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
func (o *Options) Lists(name string) bool {
	steps, _ := o.samplerList()
	return slices.ContainsFunc(steps, func(s samplerStep) bool { return s.name == name })
}

// plan fills in the steps that the options turn on.
func (s *Sampler) plan(o *Options) error {
	list, err := o.samplerList()
	if err != nil {
		return err
	}
	on := func(steps []samplerStep) []samplerStep {
		return slices.DeleteFunc(steps, func(s samplerStep) bool { return !s.on(o) })
	}
	s.before, s.steps = on(contextSteps()), on(list)
	return nil
}
