package sae

// Features: what they become, what they do to logits, where they are strongest, and words for them.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"picogpt/inside"
	"picogpt/kernels"
	"picogpt/model"
)

// A Change is what becomes of a feature at every token: To, or with Add that much more of it. What
// the features leave out of x stays as it is.
type Change = struct {
	Feature int
	Add     bool
	To      float32
}

// unit returns what 1 of a feature adds [out].
func (d *Dictionary) unit(feature int) ([]float32, error) {
	if feature < 0 || feature >= d.Features {
		return nil, fmt.Errorf("feature %d, want 0 to %d", feature, d.Features-1)
	}
	u := slices.Clone(d.direction(feature))
	for i := range u {
		if d.Rescale {
			u[i] /= d.lengths[feature]
		}
	}
	return u, nil
}

// Edits returns the edits of the model that make some changes: x becomes x + (to − f)·W_dec[f],
// where all features are read before one is changed.
func (r *Reader) Edits(changes ...Change) (edits []model.Edit, err error) {
	clamp := model.Edit{At: r.Out, Head: model.AllHeads, Op: model.Clamp}
	if r.In.Kind == model.LN2Normalized && r.In.Layer == r.Out.Layer {
		clamp.Op = model.Transcode
	}
	for i, c := range changes {
		unit, err := r.unit(c.Feature)
		switch {
		case err != nil:
		case r.Normalize == "layer_norm" || r.Normalize == "constant_norm_rescale":
			err = fmt.Errorf("normalize_activations %s: the scale of a feature differs from token "+
				"to token, so that none can be changed", r.Normalize)
		case r.top && !c.Add:
			err = fmt.Errorf("feature %d: whether one of topk is active depends on all others: "+
				"want one to be added, %[1]d+X", c.Feature)
		case !c.Add && r.In != r.Out && clamp.Op != model.Transcode:
			err = fmt.Errorf("feature %d: read at %s, want ln2.hook_normalized of the same layer, "+
				"or one to be added, %[1]d+X", c.Feature, r.In)
		case !c.Add && slices.ContainsFunc(changes[:i], func(o Change) bool {
			return !o.Add && o.Feature == c.Feature
		}):
			err = fmt.Errorf("feature %d: two values, want one", c.Feature)
		case !c.Add:
			clamp.Values = append(clamp.Values, r.clamp(c, unit)...)
		default:
			for i := range unit {
				unit[i] *= c.To
			}
			edits = append(edits, model.Edit{At: r.Out, Head: model.AllHeads, Op: model.Add,
				Values: unit})
		}
		if err != nil {
			return nil, err
		}
	}
	if clamp.Values != nil {
		edits = slices.Insert(edits, 0, clamp)
	}
	return edits, r.m.CheckEdits(edits)
}

// clamp returns the numbers of a Clamp: the view and b_dec become a part of the encoder and the
// bias.
func (r *Reader) clamp(c Change, unit []float32) []float32 {
	f, e := c.Feature, make([]float32, r.Width)
	bias := float64(r.bias[f])
	for i := range e {
		if e[i] = r.enc[i*r.Features+f]; *r.ApplyBDec {
			bias -= float64(float64(r.bDec[i]) * float64(e[i]))
		}
		if r.from.Scale != nil {
			e[i] *= r.from.Scale[i]
		}
	}
	if r.from.Shift != nil {
		bias -= dot(r.from.Shift, e)
	}
	inside.Affine{Centred: r.from.Centred}.View(e, e) // (x − mean)·e = x·(e − mean)
	all := append(append(e, unit...), float32(bias), 0, 1, 0, c.To)
	if n := len(all); r.jump {
		all[n-4] = r.threshold[f]
	} else if r.gated {
		all[n-3], all[n-2] = r.gain[f], r.shift[f]-float32(r.gain[f]*r.bias[f])
	}
	return all
}

// Effect returns what 1 of a feature adds to the logits directly, if ln_f divided by 1: its
// direction (of Z and MLPPost through c_proj), less its mean, times ln_f's gain and W_U, less the
// mean over the vocabulary [vocab_size]. That is W_dec·W_U of the model that TransformerLens makes.
func (r *Reader) Effect(ctx context.Context, feature int) ([]float32, error) {
	p := r.m.Params()
	u, err := r.unit(feature)
	if err == nil && p.LMHead == nil {
		err = model.ErrNoLogits
	}
	if err != nil {
		return nil, err
	}
	x, through := make([]float32, p.Embd), (*kernels.Matrix)(nil) // the residual stream
	switch r.Out.Kind {
	case model.Z:
		through = &p.H[r.Out.Layer].AttnProj.Weight
	case model.MLPPost:
		through = &p.H[r.Out.Layer].MLPProj.Weight
	case model.Embed, model.ResidPre, model.ResidMid, model.ResidPost, model.AttnOut, model.MLPOut:
		copy(x, u)
	default:
		return nil, fmt.Errorf("%s: want a point of the residual stream, z or mlp.hook_post", r.Out)
	}
	logits := make([]float32, p.Vocab)
	err = r.m.Work(ctx, func(w *kernels.Worker) {
		if through != nil {
			kernels.Linear(w, x, u, 1, through, nil)
		}
		if w.ID() == 0 {
			inside.Affine{Centred: true, Scale: p.LnF.Gain}.View(x, x)
		}
		w.Sync()
		kernels.Linear(w, logits, x, 1, p.LMHead, nil)
	})
	inside.Affine{Centred: true}.View(logits, logits)
	if err == nil && kernels.FirstNonFinite(logits) >= 0 {
		err = fmt.Errorf("feature %d: a logit is %w", feature, inside.ErrNonFinite)
	}
	return logits, err
}

// Strongest are, for some features, the tokens of many texts at which they are strongest.
type Strongest struct {
	Most     int         `json:"most"` // of each feature
	Features []Strengths `json:"features"`
}

// NewStrongest returns a Strongest of some features, of which no text is added.
func NewStrongest(most int, features ...int) Strongest {
	s := Strongest{Most: most}
	for _, f := range features {
		s.Features = append(s.Features, Strengths{Feature: f, Places: []Place{}})
	}
	return s
}

// Strengths are those of one feature.
type Strengths struct {
	Feature int     `json:"feature"`
	Tokens  int     `json:"tokens"` // that were read
	Active  int     `json:"active"` // at which it is more than 0
	Places  []Place `json:"strongest"`
}

// A Place is a token of a text, with those around it.
type Place struct {
	Value   float32 `json:"value"`
	Line    int     `json:"line"`
	At      int     `json:"at"`
	Context []int   `json:"context"` // ids, of which Context[Token] is the place's
	Token   int     `json:"token"`
}

// before and after are how many tokens of the context are kept.
const before, after = 8, 4

// Add takes the features of a part of a text, whose tokens from skip on are those from index from
// on of a line. Of equal values the first ones stay.
func (s *Strongest) Add(line, from, skip int, t *Text) {
	for i := range s.Features {
		f := &s.Features[i]
		f.Tokens += len(t.Tokens) - skip
		for at := skip; at < len(t.Tokens); at++ {
			k, active := slices.BinarySearch(t.Tokens[at].Features, f.Feature)
			if !active {
				continue
			}
			f.Active++
			value := t.Tokens[at].Values[k]
			to, _ := slices.BinarySearchFunc(f.Places, value, func(p Place, v float32) int {
				return cmp.Or(cmp.Compare(v, p.Value), -1)
			})
			first := max(skip, at-before)
			f.Places = slices.Insert(f.Places, to, Place{value, line, from + at - skip,
				slices.Clone(t.IDs[first:min(len(t.IDs), at+after+1)]), at - first})
			f.Places = f.Places[:min(len(f.Places), s.Most)]
		}
	}
}

// Explanations are words for features, by their numbers.
type Explanations map[int]string

// ReadExplanations reads JSON objects with "index", a number or a string of digits, and
// "description", as Neuronpedia exports them. Of several for a feature the first stays.
func ReadExplanations(in io.Reader) (Explanations, error) {
	all, objects := Explanations{}, json.NewDecoder(in)
	for n := 1; ; n++ {
		var one struct {
			Index       json.Number
			Description string
		}
		err := objects.Decode(&one)
		if err == io.EOF {
			return all, nil
		}
		i, wrong := strconv.Atoi(one.Index.String())
		if err = cmp.Or(err, wrong); err != nil {
			return nil, fmt.Errorf("explanation %d: %w", n, err)
		}
		if _, there := all[i]; !there {
			all[i] = strings.TrimSpace(one.Description)
		}
	}
}
