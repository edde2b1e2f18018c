package model

// Traces: what a caller reads and changes inside of the forward pass.

import (
	"errors"
	"fmt"
	"slices"

	"picogpt/internal/engine"
	"picogpt/model/stack"
)

// A Point is a place in the forward pass: a Kind, and the block's number from 0, or 0 for a kind
// that there is once. Its String is TransformerLens's name, such as "blocks.3.hook_resid_pre".
type Point = stack.Point

// A Kind is a place of the forward pass: in each block, or once.
type Kind = stack.Kind

// The kinds of points, in the order in which they are computed; in brackets what a point holds for
// one token, and the names. Hugging Face's hidden_states[i] are ResidPre of block i, and the last
// ones FinalNormalized; its attentions[i] are Pattern.
const (
	Embed           = stack.Embed           // hook_embed: the row of wte [n_embd]
	PosEmbed        = stack.PosEmbed        // hook_pos_embed: the row of wpe [n_embd]
	ResidPre        = stack.ResidPre        // hook_resid_pre: the residual stream [n_embd]
	LN1Scale        = stack.LN1Scale        // ln1.hook_scale: √(variance + epsilon) [1]
	LN1Normalized   = stack.LN1Normalized   // ln1.hook_normalized: after ln_1 [n_embd]
	Query           = stack.Query           // attn.hook_q: not yet scaled [n_head, head_dim]
	Key             = stack.Key             // attn.hook_k: before a 16-bit cache [n_head, head_dim]
	Value           = stack.Value           // attn.hook_v: before a 16-bit cache [n_head, head_dim]
	Scores          = stack.Scores          // attn.hook_attn_scores: [n_head, position+1]
	Pattern         = stack.Pattern         // attn.hook_pattern: weights [n_head, position+1]
	Z               = stack.Z               // attn.hook_z: weighted values [n_head, head_dim]
	Result          = stack.Result          // attn.hook_result: z W_O of each head [n_head, n_embd]
	AttnOut         = stack.AttnOut         // hook_attn_out: after c_proj, with its bias [n_embd]
	ResidMid        = stack.ResidMid        // hook_resid_mid: x + attn_out [n_embd]
	LN2Scale        = stack.LN2Scale        // ln2.hook_scale: √(variance + epsilon) [1]
	LN2Normalized   = stack.LN2Normalized   // ln2.hook_normalized: after ln_2 [n_embd]
	MLPPre          = stack.MLPPre          // mlp.hook_pre: after c_fc [n_inner]
	MLPPost         = stack.MLPPost         // mlp.hook_post: after the activation [n_inner]
	MLPOut          = stack.MLPOut          // hook_mlp_out: after c_proj, with its bias [n_embd]
	ResidPost       = stack.ResidPost       // hook_resid_post: resid_mid + mlp_out [n_embd]
	FinalScale      = stack.FinalScale      // ln_final.hook_scale: √(variance + epsilon) [1]
	FinalNormalized = stack.FinalNormalized // ln_final.hook_normalized: after ln_f [n_embd]
)

// AllLayers is the Layer of a Point of every block, and AllHeads the Head of an Edit of every head.
const (
	AllLayers = stack.AllLayers
	AllHeads  = stack.AllHeads
)

// An Edit changes what is computed at a point, for some tokens of a session. [stack.Edit] has its
// fields.
type Edit = stack.Edit

// An Op says what an Edit does.
type Op = stack.Op

// What an Edit does.
const (
	Set   = stack.Set
	Add   = stack.Add
	Scale = stack.Scale
	Hide  = stack.Hide

	Clamp     = stack.Clamp // features of a sparse dictionary, of which package inside/sae makes edits
	Transcode = stack.Transcode
)

// A Trace says which values of the forward pass a caller reads, and which it changes. Nothing else
// changes: the logits have the same bits with a Trace and without, until an Edit. The values have
// the same bits for any batch, number of threads, kernels and division into Evals; those of Pattern
// are exp(score − maximum)/sum with the final maximum and sum, which is the weight within 1e-6.
type Trace struct {
	Points []Point // that are read, in any order; AllLayers stands for those of every block
	From   int     // Tokens[From:] are read

	// Read is called once for each of the points and tokens, under the rules of Input.Visit: the
	// workers call it, several at a time, and Reading.Data is valid only during the call. The
	// points of a token come in the order in which they are computed; tokens come in any order.
	Read func(Reading)

	// Edits are applied in their order, each after its point is computed and before it is read.
	// Positions in them are those of the session. A token whose keys are all hidden gets zeros from
	// the head.
	Edits []Edit
}

// Editing returns the Trace of some edits, nil if there are none.
func Editing(edits []Edit) *Trace {
	if len(edits) == 0 {
		return nil
	}
	return &Trace{Edits: edits}
}

// A Reading is what a pass computed at a point for one token.
type Reading struct {
	At    Point
	Index int       // of the token in Tokens
	Data  []float32 // as the Kind says, row-major; valid only during the call
}

// ParsePoint returns the point of a name: TransformerLens's, such as "blocks.3.hook_resid_pre" or
// "blocks.*.attn.hook_z" for every block, one that its version 4 has beside it, such as
// "blocks.3.attn.q.hook_out", or interp-engine's short one, such as "resid_pre.3". An unknown name
// is an error with the nearest one.
func ParsePoint(name string) (Point, error) { return stack.ParsePoint(name) }

// PointNames returns the names of all points, with "blocks.*." before those of each block.
func PointNames() []string { return stack.PointNames() }

// Points returns the points of a list, in the order in which a pass computes them, with those of
// every block in place of AllLayers. A point that the model does not have is an error.
func (m *Model) Points(list ...Point) ([]Point, error) {
	all, layers := []Point{}, m.config.Layer
	for _, p := range list {
		if p.Layer == AllLayers && !p.Kind.Once() {
			for i := range layers {
				all = append(all, Point{Kind: p.Kind, Layer: i})
			}
			continue
		}
		if !p.Has(layers) {
			return nil, fmt.Errorf("point %s: the model has the layers 0 to %d", p, layers-1)
		}
		all = append(all, p)
	}
	slices.SortFunc(all, Point.Compare)
	return slices.Compact(all), nil
}

// Width returns how many numbers a point has for the token at a position.
func (m *Model) Width(p Point, position int) int { return p.Width(m.params, position) }

// CheckEdits returns an error that names the first of the edits that the model cannot make: at a
// point that it has not, or that takes none, with values that are not finite or of another width,
// of heads, tokens or keys out of range. A device other than the processor makes none.
func (m *Model) CheckEdits(edits []Edit) error {
	switch {
	case len(edits) > 0 && m.device:
		return errTraceDevice
	case len(edits) > 0 && m.beginning != nil:
		return errVirtualEdits
	}
	for i := range edits {
		if err := edits[i].Check(m.params); err != nil {
			return err
		}
	}
	return nil
}

// Edits returns Options.Edits.
func (m *Model) Edits() []Edit { return m.edits }

// Edited reports whether the session holds a token whose keys and values, or those of tokens after
// it, an Edit may have changed. A session without edits must not be continued from one.
func (s *Session) Edited() bool { return s.edited != 0 }

// errTraceDevice is the error of a trace, or of edits, where a device computes the model.
var errTraceDevice = errors.New("traces and edits: a GPU has none, want the processor " +
	"(--device cpu), whose numbers are the same")

// takeEdits checks the edits of Options.
func (m *Model) takeEdits(edits []Edit, device engine.Device) error {
	if len(edits) > 0 && device != nil {
		return errTraceDevice
	}
	m.edits = slices.Clone(edits)
	return m.CheckEdits(m.edits)
}

// checkTrace checks the trace of an input.
func (m *Model) checkTrace(in *Input) error {
	t := in.Trace
	switch {
	case t == nil:
		return nil
	case m.device:
		return errTraceDevice
	case m.beginning != nil:
		return errVirtualEdits
	case in.States != nil:
		return errors.New("Trace and States: want one of them")
	case t.From < 0:
		return fmt.Errorf("trace: From %d, want 0 or more", t.From)
	case len(t.Points) > 0 && t.Read == nil:
		return errors.New("trace: points without Read")
	}
	if _, err := m.Points(t.Points...); err != nil {
		return err
	}
	return m.CheckEdits(t.Edits)
}

// bindTrace makes what the backend gets of an input's trace and the model's edits.
func (m *Model) bindTrace(in *Input) {
	t := in.Trace
	if in.trace = nil; t == nil && len(m.edits) == 0 {
		return
	}
	in.trace = &engine.Trace{Edits: m.edits}
	if t == nil {
		return
	}
	if len(t.Edits) > 0 {
		in.trace.Edits = slices.Concat(m.edits, t.Edits)
	}
	if len(t.Points) > 0 {
		in.trace.Reads, in.trace.From = make(engine.Points, m.config.Layer), t.From
		for _, p := range t.Points {
			in.trace.Reads.Add(p)
		}
	}
}

// spanTrace returns the trace of a span that takes the tokens of an input from an index on.
func (in *Input) spanTrace(from int) *engine.Trace {
	t := in.trace
	if t == nil || t.Reads == nil {
		return t
	}
	read, part := in.Trace.Read, *t
	part.From = max(0, t.From-from)
	part.Read = func(at Point, i int, x []float32) { read(Reading{at, from + i, x}) }
	return &part
}

// firstEdited returns 1 + the position of the first new token that an edit concerns; 0 for none.
func (in *Input) firstEdited() int {
	if in.trace == nil {
		return 0
	}
	first, held := 0, in.Session.Len()
	for i := range in.trace.Edits {
		e := &in.trace.Edits[i]
		at := max(e.From, held)
		if e.Covers(at) && at < held+len(in.Tokens) && (first == 0 || at < first-1) {
			first = at + 1
		}
	}
	return first
}
