package inside

// Experiments that change a text's pass at one place at a time: sweeps of any edits, and activation
// patching.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"picogpt/model"
)

// sweepRows and sweepRuns bound the rows and the runs of one Eval, and so its memory.
const sweepRows, sweepRuns = 512, 32

// Sweep evaluates a text once for each run, with the edits of the run, and calls each, run by run,
// with the logits after the last token [vocab_size]. They are those of the run alone, to the last
// bit, and valid only during the call. A run costs the tokens from its first edited one on, at
// least the last token: what stands before them is evaluated once for all. Runs are evaluated side
// by side: at most 32, of 512 tokens together, and as many as Options.CacheBytes allows. An error
// that one run causes names its number.
func Sweep(ctx context.Context, m *model.Model, tokens []int, runs [][]model.Edit,
	each func(run int, logits []float32)) error {
	if err := checkText(m, tokens); err != nil {
		return err
	}
	for i, edits := range runs {
		if err := m.CheckEdits(edits); err != nil {
			return runError(i, err)
		}
	}
	last := len(tokens) - 1 // it is evaluated in each run, for its logits
	from, shared := make([]int, len(runs)), 0
	for i, edits := range runs {
		from[i] = last
		for _, e := range edits {
			from[i] = min(from[i], e.From)
		}
		shared = max(shared, from[i])
	}
	s := m.NewSession()
	defer s.Release()
	if shared > 0 {
		in := model.Input{Session: s, Tokens: tokens[:shared], NoLogits: true}
		if err := eval(ctx, m, in); err != nil {
			return err
		}
	}
	for first, most := 0, sweepRuns; first < len(runs); {
		var batch []model.Input
		for rows := 0; first+len(batch) < len(runs) && len(batch) < most; {
			i := first + len(batch)
			rows += len(tokens) - from[i]
			if rows > sweepRows && len(batch) > 0 {
				break
			}
			batch = append(batch, model.Input{Session: s.Fork(from[i]), Tokens: tokens[from[i]:],
				Trace: model.Editing(runs[i])})
		}
		err := m.Eval(ctx, batch...)
		for i := range batch {
			if err == nil {
				each(first+i, batch[i].Session.Logits())
			}
			batch[i].Session.Release()
		}
		if errors.Is(err, model.ErrCacheFull) && len(batch) > 1 {
			most = len(batch) / 2
			continue
		}
		if in := (*model.InputError)(nil); errors.As(err, &in) {
			return runError(first+in.Input, in.Err)
		} else if err != nil {
			return err
		}
		first += len(batch)
	}
	return nil
}

func runError(run int, err error) error { return fmt.Errorf("run %d: %w", run, err) }

// PatchOptions say what Patch puts in the place of what. The zero value puts clean's residual
// stream into corrupted.
type PatchOptions struct {
	// At is the kind of point: one that takes edits and that each block has, such as ResidPre,
	// AttnOut, MLPOut or Z. The zero value means ResidPre.
	At model.Kind

	Noising bool // corrupted's values are put into clean, instead of clean's into corrupted

	// Path, if not nil, says that gradients stand for the runs: attribution patching, or with Steps
	// its mean along the path from the embeddings of the text that is patched to the other's.
	// Values at points of heads are summed over the positions. With Check the runs are made too,
	// and compared. Source: Nanda, "Attribution Patching", 2023.
	Path  *Path
	Check bool

	Progress func(done, runs int) // nil, or called after each run
}

// A PatchTable holds a Metric for each place where values of one text stood in for the other's. In
// JSON the key of Values is the name of the points, such as "hook_resid_pre".
type PatchTable struct {
	Metric
	IDs       [2][]int   `json:"ids"` // of the clean text and of the corrupted one
	At        model.Kind `json:"-"`
	Clean     float64    `json:"clean"`     // the Metric of the clean text
	Corrupted float64    `json:"corrupted"` // that of the corrupted one
	Noising   bool       `json:"noising,omitempty"`

	// [n_layer][tokens], one position patched; or [n_layer][n_head], one head patched at all
	// positions, where heads have values of their own.
	Values [][]float64 `json:"-"`

	// (value − Corrupted)/(Clean − Corrupted): 1 where the Metric is the clean text's, 0 where it
	// is the corrupted one's. So it is what has been restored, or with Noising what has been left.
	Share [][]float64 `json:"share"`

	ByGradient *Approximation `json:"by_gradient,omitempty"` // nil: each value is a run
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
	if o.Path != nil {
		o.Path = new(*o.Path)
	}
	if err := checkPatch(m, clean, corrupted, metric, o); err != nil {
		return nil, err
	}
	from, to := clean, corrupted
	if o.Noising {
		from, to = to, from
	}
	at := model.Point{Kind: o.At, Layer: model.AllLayers}
	rec, err := newRecord(m, len(from), at)
	if err != nil {
		return nil, err
	}
	source, whole := m.NewSession(), m.NewSession()
	defer source.Release()
	defer whole.Release()
	own, into := (*record)(nil), model.Input{Session: whole, Tokens: to}
	if o.Path != nil {
		if own, err = newRecord(m, len(to), at); err != nil {
			return nil, err
		}
		into.Trace = own.trace(0)
	}
	if err := eval(ctx, m, model.Input{Session: source, Tokens: from, Trace: rec.trace(0)},
		into); err != nil {
		return nil, err
	}
	t := &PatchTable{Metric: metric, IDs: [2][]int{clean, corrupted}, At: o.At, Noising: o.Noising,
		Clean: metric.Of(source.Logits()), Corrupted: metric.Of(whole.Logits())}
	if o.Noising {
		t.Clean, t.Corrupted = t.Corrupted, t.Clean
	}
	if t.Clean == t.Corrupted {
		return nil, fmt.Errorf("the metric of both texts is %.4g, want two that differ in it",
			t.Clean)
	}
	runs := patches(m, rec, whole.Matches(from))
	source.Release() // the runs may need the memory
	whole.Release()
	if o.Path != nil {
		t.ByGradient = &Approximation{Path: *o.Path}
		t.Values, err = t.byGradients(ctx, m, from, to, rec, own, o)
	}
	if err == nil && (o.Path == nil || o.Check) {
		exact, wrong := t.sweep(ctx, m, to, runs, o.Progress)
		if err = wrong; o.Path == nil {
			t.Values = exact
		} else if err == nil {
			t.ByGradient.compare(exact, t.Values)
		}
	}
	for _, row := range t.Values {
		share := make([]float64, len(row))
		for i, value := range row {
			share[i] = (value - t.Corrupted) / (t.Clean - t.Corrupted)
		}
		t.Share = append(t.Share, share)
	}
	return t, err
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
	if o.Path != nil {
		if err := o.Path.check(); err != nil {
			return err
		}
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
				runs = append(runs, []model.Edit{{At: p, Head: h, Op: model.Set, From: common,
					To: n, Values: all.head(h, heads, common)}})
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

// sweep returns the Metric of each run, a row for each layer.
func (t *PatchTable) sweep(ctx context.Context, m *model.Model, tokens []int, runs [][]model.Edit,
	progress func(done, runs int)) ([][]float64, error) {
	layers := m.Config().Layer
	rows := make([][]float64, layers)
	err := Sweep(ctx, m, tokens, runs, func(run int, logits []float32) {
		layer := run * layers / len(runs)
		rows[layer] = append(rows[layer], t.Of(logits))
		if progress != nil {
			progress(run+1, len(runs))
		}
	})
	return rows, err
}

// MarshalJSON writes {"target":1,"ids":[[…],[…]],"clean":4,"corrupted":-3,"share":[[…]],
// "hook_resid_pre":[[…]]}.
func (t *PatchTable) MarshalJSON() ([]byte, error) {
	type fields PatchTable // without this method
	b, err := json.Marshal((*fields)(t))
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
