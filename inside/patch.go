package inside

// Activation patching: which values make the difference between two texts.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/model"
)

// PatchOptions say what Patch puts in the place of what. The zero value puts clean's residual stream
// into corrupted.
type PatchOptions struct {
	// At is the kind of point: one that takes edits and that each block has, such as ResidPre,
	// AttnOut, MLPOut or Z. The zero value means ResidPre.
	At model.Kind

	Noising bool // corrupted's values are put into clean, instead of clean's into corrupted

	Progress func(done, runs int) // nil, or called after each run
}

// A PatchTable holds a Metric for each place where values of one text stood in for the other's. In
// JSON the key of Values is the name of the points, such as "hook_resid_pre".
type PatchTable struct {
	Metric
	IDs       [2][]int // of the clean text and of the corrupted one
	At        model.Kind
	Noising   bool
	Clean     float64 // the Metric of the clean text
	Corrupted float64 // that of the corrupted one

	// [n_layer][tokens], one position patched; or [n_layer][n_head], one head patched at all
	// positions, where heads have values of their own.
	Values [][]float64

	// (value − Corrupted)/(Clean − Corrupted): 1 where the Metric is the clean text's, 0 where it is
	// the corrupted one's. So it is what has been restored, or with Noising what has been left.
	Share [][]float64
}

// Patch evaluates one of two texts of the same length again and again, each time with the values of
// the other at one place: in each layer at each position or, if the points are those of heads, in
// each head at all positions. Denoising, without PatchOptions.Noising, finds places that are enough
// to bring the clean text's Metric back; noising finds those that are needed for it. Sources: Meng
// et al., "Locating and Editing Factual Associations in GPT", 2022; Heimersheim and Nanda, "How to
// use and interpret activation patching", 2024.
func Patch(ctx context.Context, m *model.Model, clean, corrupted []int, metric Metric,
	o PatchOptions) (*PatchTable, error) {
	if o.At == 0 {
		o.At = model.ResidPre
	}
	if err := checkPatch(m, clean, corrupted, metric, o); err != nil {
		return nil, err
	}
	from, to := clean, corrupted
	if o.Noising {
		from, to = to, from
	}
	rec, err := newRecord(m, len(from), model.Point{Kind: o.At, Layer: model.AllLayers})
	if err != nil {
		return nil, err
	}
	source, whole := m.NewSession(), m.NewSession()
	defer source.Release()
	defer whole.Release()
	if err := eval(ctx, m, model.Input{Session: source, Tokens: from, Trace: rec.trace(0)},
		model.Input{Session: whole, Tokens: to}); err != nil {
		return nil, err
	}
	t := &PatchTable{Metric: metric, IDs: [2][]int{clean, corrupted}, At: o.At, Noising: o.Noising,
		Clean: metric.Of(source.Logits()), Corrupted: metric.Of(whole.Logits())}
	if o.Noising {
		t.Clean, t.Corrupted = t.Corrupted, t.Clean
	}
	if t.Clean == t.Corrupted {
		return nil, fmt.Errorf("the metric of both texts is %.4g, want two that differ in it", t.Clean)
	}
	runs := patches(m, rec, whole.Matches(from))
	source.Release() // the runs may need the memory
	whole.Release()
	return t, t.sweep(ctx, m, to, runs, o.Progress)
}

func checkPatch(m *model.Model, clean, corrupted []int, metric Metric, o PatchOptions) error {
	if err := checkText(m, clean); err != nil {
		return fmt.Errorf("clean: %w", err)
	}
	if err := checkText(m, corrupted); err != nil {
		return fmt.Errorf("corrupted: %w", err)
	}
	if len(clean) != len(corrupted) {
		return fmt.Errorf("clean has %d tokens and corrupted %d, want as many", len(clean),
			len(corrupted))
	}
	if slices.Equal(clean, corrupted) {
		return errors.New("clean and corrupted are the same tokens, want two texts that differ")
	}
	if !o.At.TakesEdits() || o.At.Once() {
		return fmt.Errorf("patch at %s: want points of a block that take edits",
			model.Point{Kind: o.At, Layer: model.AllLayers})
	}
	return metric.check(m)
}

// patches returns for each point of a record the edits that set what it holds: those of each token
// or, if heads have values of their own, of each head. The texts have their first tokens in common,
// so many, and therefore their values: nothing is set there.
func patches(m *model.Model, rec *record, common int) (runs [][]model.Edit) {
	for _, p := range rec.points {
		all, heads := rec.rows[p], m.Config().Head
		n := len(all.data) / all.width
		if p.Kind.PerHead() {
			for h := range heads {
				runs = append(runs, []model.Edit{{At: p, Head: h, Op: model.Set, From: common, To: n,
					Values: all.head(h, heads, common)}})
			}
			continue
		}
		runs = append(runs, make([][]model.Edit, common)...)
		for i := common; i < n; i++ {
			runs = append(runs, []model.Edit{{At: p, Head: model.AllHeads, Op: model.Set,
				From: i, To: i + 1, Values: all.row(i)}})
		}
	}
	return runs
}

// head returns the values of a head from a token on: [tokens-from, width/heads].
func (v *values) head(head, heads, from int) (all []float32) {
	dim := v.width / heads
	for i := from; i < len(v.data)/v.width; i++ {
		all = append(all, v.row(i)[head*dim:(head+1)*dim]...)
	}
	return all
}

// sweep fills the rows of the table, a row for each layer.
func (t *PatchTable) sweep(ctx context.Context, m *model.Model, tokens []int, runs [][]model.Edit,
	progress func(done, runs int)) error {
	layers := m.Config().Layer
	columns := len(runs) / layers
	for range layers {
		t.Values = append(t.Values, make([]float64, columns))
		t.Share = append(t.Share, make([]float64, columns))
	}
	return Sweep(ctx, m, tokens, runs, func(run int, logits []float32) {
		value := t.Of(logits)
		t.Values[run/columns][run%columns] = value
		t.Share[run/columns][run%columns] = (value - t.Corrupted) / (t.Clean - t.Corrupted)
		if progress != nil {
			progress(run+1, len(runs))
		}
	})
}

// patchJSON is a PatchTable without its Values.
type patchJSON struct {
	Metric
	IDs       [2][]int    `json:"ids"`
	Clean     float64     `json:"clean"`
	Corrupted float64     `json:"corrupted"`
	Noising   bool        `json:"noising,omitempty"`
	Share     [][]float64 `json:"share"`
}

// MarshalJSON writes {"target":1,"ids":[[…],[…]],"clean":4,"corrupted":-3,"share":[[…]],
// "hook_resid_pre":[[…]]}.
func (t *PatchTable) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(patchJSON{t.Metric, t.IDs, t.Clean, t.Corrupted, t.Noising, t.Share})
	if err != nil {
		return nil, err
	}
	values, err := json.Marshal(map[string][][]float64{kindName(t.At): t.Values})
	if err != nil {
		return nil, err
	}
	return slices.Concat(b[:len(b)-1], []byte{','}, values[1:]), nil
}

// kindName returns the name of a kind of each block: that of a point without "blocks.3.".
func kindName(k model.Kind) string {
	return strings.TrimPrefix(model.Point{Kind: k, Layer: model.AllLayers}.String(), "blocks.*.")
}
