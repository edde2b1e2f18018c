package stack

// Edits: what changes the values of points.

import (
	"encoding/json"
	"fmt"

	"picogpt/internal/quote"
	"picogpt/kernels"
)

// An Op says what an Edit does.
type Op string

// What an Edit does.
const (
	Set   Op = "set"   // the values become Values
	Add   Op = "add"   // Values are added
	Scale Op = "scale" // the values are multiplied by Values[0]
	Hide  Op = "hide"  // at a Pattern: the keys are hidden from the tokens

	// Features of a sparse dictionary, such as a sparse autoencoder, become what they shall be.
	Clamp     Op = "clamp"     // read from the values themselves
	Transcode Op = "transcode" // at an MLPOut: read from the LN2Normalized of the block
)

// AllHeads is the Head of an Edit of every head.
const AllHeads = -1

// An Edit changes what a pass computes at a point, for some tokens of a session. It is a value: it
// can be compared, checked and written to a file. Positions are those of the session, from 0.
type Edit struct {
	At   Point `json:"at"` // of one block, or AllLayers
	Head int   `json:"-"`  // of q, k, v, z and the pattern; AllHeads for every head, and elsewhere
	Op   Op    `json:"op"`

	// The tokens at positions From to To-1 are edited; To 0 means all from From on, also those to
	// come.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`

	// Of Set and Add: one number for all, or [width], or [To-From, width]. The width is that of the
	// point, or head_dim for one head. Of Scale: one number. Of Clamp and Transcode: for each
	// feature its encoder E and decoder D [width], and bias, threshold, gain, shift and to. Where p
	// = x·E + bias is more than the threshold, the feature is f = gain·p + shift if that is more
	// than 0; else it is 0. (to − f)·D is added, when all features are read. The sums are in
	// float64, in order.
	Values []float32 `json:"values,omitempty"`

	// Of Hide: the tokens do not see the keys at positions KeysFrom to KeysTo-1.
	KeysFrom int `json:"keys_from,omitempty"`
	KeysTo   int `json:"keys_to,omitempty"`
}

// In JSON an edit without "head" is one of AllHeads.
type plainEdit Edit

type editJSON struct {
	plainEdit
	Head *int `json:"head,omitempty"`
}

// MarshalJSON writes an edit with the fields at, op, head, from, to, values, keys_from and keys_to.
func (e Edit) MarshalJSON() ([]byte, error) {
	out := editJSON{plainEdit: plainEdit(e)}
	if e.Head != AllHeads {
		out.Head = &e.Head
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON writes.
func (e *Edit) UnmarshalJSON(b []byte) error {
	in := editJSON{}
	if err := json.Unmarshal(b, &in); err != nil {
		return err
	}
	*e = Edit(in.plainEdit)
	e.Head = AllHeads
	if in.Head != nil {
		e.Head = *in.Head
	}
	return nil
}

// Check returns an error that says what an edit of a model wants.
func (e *Edit) Check(p *Params) error {
	k, layers := e.At.Kind, len(p.H)
	if k >= kinds || !e.At.Has(layers) && (k.Once() || e.At.Layer != AllLayers) {
		return fmt.Errorf("edit of %s: want a layer from 0 to %d", e.At, layers-1)
	}
	if e.Op == Hide && k != Pattern {
		return fmt.Errorf("edit of %s: hide: want attn.hook_pattern", e.At)
	}
	if e.Op != Hide && !k.TakesEdits() {
		return fmt.Errorf("edit of %s: it can be read, not edited", e.At)
	}
	if most := p.Heads - 1; e.Head < AllHeads || k.PerHead() && e.Head > most {
		return fmt.Errorf("edit of %s: head %d, want 0 to %d, or %d for all", e.At, e.Head, most,
			AllHeads)
	} else if !k.PerHead() && e.Head > 0 {
		return fmt.Errorf("edit of %s: head %d of a point without heads", e.At, e.Head)
	}
	if e.From < 0 || e.To != 0 && e.To <= e.From || e.From >= p.Positions || e.To > p.Positions {
		return fmt.Errorf("edit of %s: tokens %d to %d (exclusive), want some of 0 to %d", e.At,
			e.From, e.To, p.Positions)
	}
	if e.Op == Hide {
		if e.KeysFrom < 0 || e.KeysTo <= e.KeysFrom || e.KeysTo > p.Positions {
			return fmt.Errorf("edit of %s: keys %d to %d (exclusive), want some of 0 to %d", e.At,
				e.KeysFrom, e.KeysTo, p.Positions)
		}
		if len(e.Values) > 0 {
			return fmt.Errorf("edit of %s: hide: %d values, want none", e.At, len(e.Values))
		}
		return nil
	}
	return e.checkValues(p)
}

func (e *Edit) checkValues(p *Params) error {
	if e.KeysFrom != 0 || e.KeysTo != 0 {
		return fmt.Errorf("edit of %s: %s: keys_from and keys_to are for hide", e.At, e.Op)
	}
	width := e.width(p)
	switch n := len(e.Values); e.Op {
	case Set, Add:
		if n != 1 && n != width && (e.To == 0 || n != (e.To-e.From)*width) {
			return fmt.Errorf("edit of %s: %s: %d values, want %d, or as many for each token, or 1",
				e.At, e.Op, n, width)
		}
	case Scale:
		if n != 1 {
			return fmt.Errorf("edit of %s: scale: %d values, want 1", e.At, n)
		}
	case Clamp, Transcode:
		if each := 2*width + features; n == 0 || n%each != 0 {
			return fmt.Errorf("edit of %s: %s: %d values, want %d for each feature", e.At, e.Op, n,
				each)
		}
		if e.Op == Transcode && e.At.Kind != MLPOut {
			return fmt.Errorf("edit of %s: transcode: want hook_mlp_out", e.At)
		}
	default:
		return fmt.Errorf("edit of %s: %s, want set, add, scale or hide; clamp or transcode", e.At,
			quote.Short(string(e.Op), 40))
	}
	if i := kernels.FirstNonFinite(e.Values); i >= 0 {
		return fmt.Errorf("edit of %s: value %d is not finite", e.At, i)
	}
	return nil
}

// width returns how many numbers of a token an edit changes.
func (e *Edit) width(p *Params) int {
	if e.At.Kind.PerHead() && e.Head != AllHeads {
		return p.HeadDim()
	}
	return e.At.Width(p, 0)
}

// Concerns reports whether an edit is one of a point.
func (e *Edit) Concerns(at Point) bool {
	return e.At.Kind == at.Kind && (e.At.Layer == at.Layer || e.At.Layer == AllLayers)
}

// Covers reports whether the token at a position is edited.
func (e *Edit) Covers(position int) bool {
	return position >= e.From && (e.To == 0 || position < e.To)
}

// features is how many numbers a feature has beside its encoder and its decoder.
const features = 5

// Apply edits x, all values of the point for the token at a position, which the edit covers. norm
// is the block's LN2Normalized of the token, for Transcode.
func (e *Edit) Apply(p *Params, x, norm []float32, position int) {
	width, values := e.width(p), e.Values
	if e.At.Kind.PerHead() && e.Head != AllHeads {
		x = x[e.Head*width:]
	}
	switch x = x[:width]; e.Op {
	case Clamp:
		e.clamp(x, x)
		return
	case Transcode:
		e.clamp(x, norm)
		return
	}
	if len(values) > width {
		values = values[(position-e.From)*width:]
	}
	for i := range x {
		v := values[0]
		if len(values) > 1 {
			v = values[i]
		}
		switch e.Op {
		case Set:
			x[i] = v
		case Add:
			x[i] += v
		case Scale:
			x[i] *= v
		}
	}
}

// clamp changes x by the features of source.
func (e *Edit) clamp(x, source []float32) {
	width := len(x)
	by := make([]float32, 0, 1)
	for all := e.Values; len(all) > 0; all = all[2*width+features:] {
		last := all[2*width:]
		p, f := float64(last[0]), float32(0)
		for i, v := range source[:width] {
			p += float64(float64(v) * float64(all[i]))
		}
		if !(float32(p) <= last[1]) { // a NaN stays one
			f = max(0, float32(float64(float64(last[2])*p)+float64(last[3])))
		}
		by = append(by, last[4]-f)
	}
	for i, change := range by {
		for j, v := range e.Values[i*(2*width+features)+width:][:width] {
			x[j] = float32(float64(x[j]) + float64(float64(change)*float64(v)))
		}
	}
}
