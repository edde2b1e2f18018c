package inside

// Grains of patching: what is one place of a table, and the edits that patch it.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/model"
)

// A Grain says what of a head is one place.
type Grain string

// The grains of points of heads. A Pattern is patched with the values of the text that is patched:
// z gets (pattern of the other text − own pattern)·values, as a patch of hook_pattern gives it.
const (
	ByHead     Grain = "head"     // a head at all positions
	ByPosition Grain = "position" // a head at one position; of a Pattern, where it looks from there
	ByEdge     Grain = "edge"     // of a Pattern: the weight of one key at one position
)

// A Head is one of a layer.
type Head struct{ Layer, Head int }

// String writes "3.1": head 1 of layer 3.
func (h Head) String() string {
	return strings.TrimSuffix(fmt.Sprintf("%d.%d", h.Layer, h.Head), ".-1")
}

// A Receiver is a reader of the residual stream: the Query, Key or Value of a head, the MLPPre of an
// MLP, or FinalNormalized, which is the logits. Path patching runs a text with the change of one
// sender, all heads' z and all MLPs' outputs else frozen to what they are without it. The receivers
// of that pass are what reaches them directly. They are set in a second pass, in which nothing is
// frozen; the logits are those of the first pass. Sources: Wang et al., "Interpretability in the
// Wild", 2022, who let MLPs pass the change on; Goldowsky-Dill et al., "Localizing Model Behavior
// with Path Patching", 2023.
type Receiver struct {
	At   model.Point
	Head int // of a Query, Key or Value; else model.AllHeads
}

// String writes "3.1.q", "mlp.3" or "logits".
func (r Receiver) String() string {
	switch k := r.At.Kind; {
	case k == model.MLPPre:
		return fmt.Sprintf("mlp.%d", r.At.Layer)
	case k == model.FinalNormalized:
		return "logits"
	case r.Head >= 0 && k >= model.Query && k <= model.Value:
		return fmt.Sprintf("%d.%d.%c", r.At.Layer, r.Head, "qkv"[k-model.Query])
	}
	return r.At.String()
}

// MarshalText writes String.
func (r Receiver) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// logits reports whether the receivers are the logits.
func (o *PatchOptions) logits() bool {
	return len(o.To) == 1 && o.To[0].At.Kind == model.FinalNormalized
}

// positions reports whether columns are positions.
func (o *PatchOptions) positions() bool {
	return !o.At.PerHead() || o.By != "" && o.By != ByHead
}

func (o *PatchOptions) checkGrain(m *model.Model) error {
	pattern, name := o.At == model.Pattern, model.Point{Kind: o.At, Layer: model.AllLayers}
	senders := []model.Kind{model.Z, model.AttnOut, model.MLPOut, model.ResidPre, model.ResidMid,
		model.ResidPost}
	atZ := func(e model.Edit) bool { return e.At.Kind == model.Z }
	switch {
	case o.By != "" && (o.By != ByPosition || !o.At.PerHead()) && (o.By != ByEdge || !pattern):
		return fmt.Errorf("patch at %s by %q: want head, position, or edge of patterns", name, o.By)
	case o.Heads != nil && o.By == "":
		return errors.New("heads: want by position or by edge with them")
	case o.Path != nil && (o.To != nil || o.By != "" || pattern):
		return errors.New("gradients: want points that take edits, by head, and no receivers")
	case o.To != nil && !slices.Contains(senders, o.At):
		return fmt.Errorf("path from %s: want z, attn_out, mlp_out or the residual stream", name)
	case pattern && slices.ContainsFunc(m.Edits(), atZ):
		return errors.New("patch of patterns and edits at z: want one of them")
	}
	wrong := func(at model.Point, head int) bool {
		return at.Layer < 0 || m.CheckEdits([]model.Edit{{At: at, Head: head, Op: model.Set,
			Values: []float32{0}}}) != nil
	}
	for _, h := range o.Heads {
		if h.Head < 0 || wrong(model.Point{Kind: model.Z, Layer: h.Layer}, h.Head) {
			return fmt.Errorf("head %s: the model has none such", h)
		}
	}
	for _, r := range o.To {
		k := r.At.Kind
		head := k >= model.Query && k <= model.Value
		if !o.logits() && (!head && k != model.MLPPre || head == (r.Head < 0) || wrong(r.At, r.Head)) {
			return fmt.Errorf("receiver %s: want q, k or v of heads, MLPs, or the logits alone", r)
		}
	}
	return nil
}

// own returns what is recorded of the text that is patched.
func (o *PatchOptions) own(m *model.Model, tokens int) (*record, error) {
	kinds := []model.Kind(nil)
	switch {
	case o.At == model.Pattern:
		kinds = []model.Kind{model.Pattern, model.Value}
	case o.Path != nil:
		kinds = []model.Kind{o.At}
	case o.To != nil && o.ThroughMLPs:
		kinds = []model.Kind{model.Z}
	case o.To != nil:
		kinds = []model.Kind{model.Z, model.MLPOut}
	}
	var points []model.Point
	for _, k := range kinds {
		points = append(points, model.Point{Kind: k, Layer: model.AllLayers})
	}
	return newRecord(m, tokens, points...)
}

// A grid is the places of a table.
type grid struct {
	o        PatchOptions
	m        *model.Model
	rec, own *record
	tokens   []int   // of the text that is patched
	common   int     // tokens that both texts have at the beginning, whose values are the same
	base     float64 // the Metric of the text that is patched

	rows []string
	runs [][]model.Edit // row by row; nil where nothing changes
}

// make makes the edits of each place.
func (g *grid) make() {
	n, c, heads := len(g.tokens), g.m.Config(), g.o.Heads
	for l := 0; g.o.Heads == nil && l < c.Layer; l++ {
		for h := 0; h < c.Head && g.o.At.PerHead(); h++ {
			heads = append(heads, Head{l, h})
		}
		if whole := (Head{l, model.AllHeads}); !g.o.At.PerHead() {
			heads = append(heads, whole)
		} else if !g.o.positions() {
			g.rows = append(g.rows, whole.String())
		}
	}
	for _, h := range heads {
		row := make([][]model.Edit, n)
		switch {
		case !g.o.positions():
			g.runs = append(g.runs, g.patch(h, g.common, n))
		case g.o.By != ByEdge:
			for i := g.common; i < n; i++ {
				row[i] = g.patch(h, i, i+1)
			}
			g.rows, g.runs = append(g.rows, h.String()), append(g.runs, row...)
		default:
			for i := range n {
				for key := 0; key <= i && i >= g.common; key++ {
					row[key] = g.edit(model.Z, h, model.Add, i, i+1, g.weighted(h, i, key, key+1))
				}
				g.rows = append(g.rows, fmt.Sprintf("%s %d", h, i))
				g.runs = append(g.runs, row...)
			}
		}
	}
}

func (g *grid) edit(k model.Kind, h Head, op model.Op, from, to int, values []float32) []model.Edit {
	return []model.Edit{{At: model.Point{Kind: k, Layer: h.Layer}, Head: h.Head, Op: op, From: from,
		To: to, Values: values}}
}

// patch returns the edit that patches a head, or all of a layer, at the positions from one to another.
func (g *grid) patch(h Head, from, to int) []model.Edit {
	all, values := g.rec.rows[model.Point{Kind: g.o.At, Layer: h.Layer}], []float32(nil)
	switch {
	case g.o.At == model.Pattern:
		for i := from; i < to; i++ {
			values = append(values, g.weighted(h, i, 0, i+1)...)
		}
		return g.edit(model.Z, h, model.Add, from, to, values)
	case h.Head == model.AllHeads:
		values = all.data[all.start(from):all.start(to)]
	default:
		values = all.head(h.Head, g.m.Config().Head, from, to)
	}
	return g.edit(g.o.At, h, model.Set, from, to, values)
}

// weighted returns what z of a head gets at a position, if the weights of the keys from one to
// another become those of the other text.
func (g *grid) weighted(h Head, position, from, to int) []float32 {
	dim, at := g.m.Params().HeadDim(), model.Point{Kind: model.Pattern, Layer: h.Layer}
	other := g.rec.rows[at].row(position)[h.Head*(position+1):]
	own := g.own.rows[at].row(position)[h.Head*(position+1):]
	values := g.own.rows[model.Point{Kind: model.Value, Layer: h.Layer}]
	sums, change := make([]float64, dim), make([]float32, dim)
	for key := from; key < to; key++ {
		w := float64(other[key]) - float64(own[key])
		for i, v := range values.row(key)[h.Head*dim : (h.Head+1)*dim] {
			sums[i] += float64(w * float64(v))
		}
	}
	for i, sum := range sums {
		change[i] = float32(sum)
	}
	return change
}

// values returns the Metric of each place, row by row.
func (g *grid) values(ctx context.Context, metric Metric) (rows [][]float64, err error) {
	cells, at, runs := make([]float64, len(g.runs)), []int(nil), [][]model.Edit(nil)
	for i, edits := range g.runs {
		cells[i] = g.base
		if edits != nil {
			at, runs = append(at, i), append(runs, edits)
		}
	}
	done := 0
	take := func(_ int, logits []float32) {
		cells[at[done]] = metric.Of(logits)
		if done++; g.o.Progress != nil {
			g.o.Progress(done, len(runs))
		}
	}
	if g.o.To == nil {
		err = Sweep(ctx, g.m, g.tokens, runs, take)
	} else {
		var frozen []model.Edit
		for _, p := range g.own.points {
			frozen = append(frozen, g.set(g.own, p, model.AllHeads))
		}
		for some := range slices.Chunk(runs, sweepRuns) {
			if err = g.paths(ctx, frozen, some, take); err != nil {
				break
			}
		}
	}
	for row := range slices.Chunk(cells, len(cells)/len(g.rows)) {
		rows = append(rows, row)
	}
	return rows, err
}

// set returns the edit that sets a point to what a record holds, from the first token on that is not
// the same in both texts.
func (g *grid) set(r *record, at model.Point, head int) model.Edit {
	other := *g
	other.rec, other.o.At = r, at.Kind
	return other.patch(Head{at.Layer, head}, g.common, len(g.tokens))[0]
}

// paths makes the two passes of path patching for some senders.
func (g *grid) paths(ctx context.Context, frozen []model.Edit, senders [][]model.Edit,
	take func(run int, logits []float32)) error {
	runs, read := make([][]model.Edit, len(senders)), make([]*record, len(senders))
	for i, edits := range senders {
		runs[i] = slices.Concat(frozen, edits)
	}
	if g.o.logits() {
		return Sweep(ctx, g.m, g.tokens, runs, take)
	}
	var points []model.Point
	for _, r := range g.o.To {
		points = append(points, r.At)
	}
	for i := range read {
		var err error
		if read[i], err = newRecord(g.m, len(g.tokens), points...); err != nil {
			return err
		}
	}
	err := sweep(ctx, g.m, g.tokens, runs, points, func(run int, r model.Reading) {
		copy(read[run].rows[r.At].row(r.Index), r.Data)
	}, func(int, []float32) {})
	if err != nil {
		return err
	}
	for i := range runs {
		runs[i] = nil
		for _, r := range g.o.To {
			runs[i] = append(runs[i], g.set(read[i], r.At, r.Head))
		}
	}
	return Sweep(ctx, g.m, g.tokens, runs, take)
}
