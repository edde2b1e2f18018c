package sample

// Guidance: away from the distribution after another context.

import (
	"fmt"
	"math"
	"strconv"

	"picogpt/internal/option"
	"picogpt/kernels"
)

// Guidance is classifier-free guidance (Sanchez and others, arXiv 2306.17806; Hugging Face's
// UnbatchedClassifierFreeGuidanceLogitsProcessor). With the log-probabilities c after the text and
// u after Negative and the new tokens, the score of an id is u + Scale·(c - u). The caller
// evaluates both contexts, and puts the logits of the second into the Sampler's field Against.
type Guidance struct {
	Scale    float64 // 1 means off
	Negative []int   // empty means the prompt's last token
	Text     string  // in place of Negative, for Params.Open
}

var guidanceStep = step{
	name: "guidance", kind: ahead, do: (*Sampler).guide, table: guidanceTable,
	on: func(p *Params) bool { return p.Guidance.On() },
}

func guidanceTable(p *Params) []option.Option {
	return []option.Option{{
		Name: "guidance", Value: guidanceScale{&p.Guidance},
		Check: func() string {
			if g := p.Guidance; g != nil && !(math.Abs(g.Scale) <= 1e100) {
				return fmt.Sprintf(" %v: want a number from -1e100 to 1e100", g.Scale)
			}
			return ""
		},
		Flag: option.Flag{Name: "guidance", Holder: "G", Group: option.Wanted,
			Others: "guidance-scale cfg-scale cfg",
			Help: "go further from what --negative would lead to, G times as far; 1 is off, " +
				"1.5 is usual"},
		Field: option.Field{Name: "guidance_scale",
			Range: option.Range{From: -option.MostNumber, To: option.MostNumber}},
	}, {
		Name: "negative", Value: negativeText{&p.Guidance}, With: []string{"guidance"}, Text: true,
		Flag: option.Flag{Name: "negative", Holder: "TEXT", Group: option.Wanted,
			Others: "negative-prompt cfg-negative-prompt",
			Help:   "the prompt to go away from; default: the prompt's last token"},
		Field: option.Field{Name: "negative_prompt", Most: 16 << 10},
	}}
}

// A guidanceScale is Guidance.Scale as the value of an option.
type guidanceScale struct{ of **Guidance }

func (g guidanceScale) Set(text string) error {
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return fmt.Errorf(": want a number, found %q", text)
	}
	guidanceOf(g.of).Scale = x
	return nil
}

func (g guidanceScale) String() string {
	if *g.of == nil {
		return ""
	}
	return fmt.Sprint((*g.of).Scale)
}

// A negativeText is Guidance.Text as the value of an option.
type negativeText struct{ of **Guidance }

func (n negativeText) Set(text string) error {
	guidanceOf(n.of).Text = text
	return nil
}

func (n negativeText) String() string {
	if *n.of == nil {
		return ""
	}
	return (*n.of).Text
}

// guidanceOf returns *of, after setting it to guidance that is off if it was nil.
func guidanceOf(of **Guidance) *Guidance {
	if *of == nil {
		*of = &Guidance{Scale: 1}
	}
	return *of
}

// On reports whether the other context is needed.
func (g *Guidance) On() bool { return g != nil && g.Scale != 1 }

// guide applies guidance to the scores. Log-probabilities are over all logits, those of ids that may
// not be drawn too: penalties look at the sign of what comes out.
func (s *Sampler) guide() {
	if s.Against == nil {
		return
	}
	scale, logSum := s.params.Guidance.Scale, s.Leaves.LogSumExp(s.Against)
	all := s.scores[:s.rows]
	if s.params.Earlier {
		all = s.scores
	}
	largest := s.maximum(all)
	s.weights = resized(s.weights, len(all))
	s.Leaves.Exp64s(s.weights, all, largest, 1)
	ours := largest + kernels.Log64(s.Leaves.Sum64(s.weights, 0))
	for id, x := range s.scores {
		if !math.IsInf(x, -1) {
			u := float64(s.Against[id]) - logSum
			s.scores[id] = u + float64(scale*(x-ours-u))
		}
	}
}
