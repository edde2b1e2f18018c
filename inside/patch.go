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
	return sweep(ctx, m, tokens, runs, nil, nil, each)
}

// sweep is Sweep that hands points of the runs to read: of the tokens from the first edited one on,
// whose positions are Index.
func sweep(ctx context.Context, m *model.Model, tokens []int, runs [][]model.Edit,
	points []model.Point, read func(run int, r model.Reading),
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
			trace := &model.Trace{Points: points, Edits: runs[i], Read: func(r model.Reading) {
				r.Index += from[i]
				read(i, r)
			}}
			batch = append(batch, model.Input{Session: s.Fork(from[i]), Tokens: tokens[from[i]:],
				Trace: trace})
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
	// AttnOut, MLPOut or Z, or Pattern. The zero value means ResidPre.
	At model.Kind

	By    Grain  // of the points of heads; "" is ByHead
	Heads []Head // those that ByPosition and ByEdge patch; nil: all

	// To, if not nil, are receivers: path patching. What is patched reaches them on direct ways
	// alone, and only what they make of it goes on. See Receiver. ThroughMLPs says that MLPs on the
	// ways pass the change on, too.
	To          []Receiver
	ThroughMLPs bool

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
	By        Grain      `json:"by,omitempty"` // of ByPosition and ByEdge
	To        []Receiver `json:"to,omitempty"` // of path patching
	Through   bool       `json:"through_mlps,omitempty"`
	Rows      []string   `json:"rows"` // "3" is a layer, "3.1" a head, "3.1 5" its token 5

	// [n_layer][tokens], one position patched; or [n_layer][n_head], one head patched at all
	// positions, where heads have values of their own; or with By [heads][tokens], a head at one
	// position, or [heads·tokens][tokens], one weight of a head: of a token, by keys.
	Values [][]float64 `json:"-"`

	// (value − Corrupted)/(Clean − Corrupted): 1 where the Metric is the clean text's, 0 where it
	// is the corrupted one's. So it is what has been restored, or with Noising what has been left.
	Share [][]float64 `json:"share"`

	ByGradient *Approximation `json:"by_gradient,omitempty"` // nil: each value is a run
}

// Patch evaluates one of two texts of the same length again and again, each time with the values of
// the other at one place: in each layer at each position or, if the points are those of heads, in
// each head at all positions, or as PatchOptions.By says. Denoising, without PatchOptions.Noising, finds places that are enough
// to bring the clean text's Metric back; noising finds those that are needed for it. Sources: Meng
// et al., "Locating and Editing Factual Associations in GPT", 2022; Heimersheim and Nanda, "How to
// use and interpret activation patching", 2024.
func Patch(ctx context.Context, m *model.Model, clean, corrupted []int, metric Metric,
	o PatchOptions) (*PatchTable, error) {
	o = o.plain()
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
	own, err := o.own(m, len(to))
	if err != nil {
		return nil, err
	}
	source, whole := m.NewSession(), m.NewSession()
	defer source.Release()
	defer whole.Release()
	if err := eval(ctx, m, model.Input{Session: source, Tokens: from, Trace: rec.trace(0)},
		model.Input{Session: whole, Tokens: to, Trace: own.trace(0)}); err != nil {
		return nil, err
	}
	t := &PatchTable{Metric: metric, IDs: [2][]int{clean, corrupted}, At: o.At, Noising: o.Noising,
		By: o.By, To: o.To, Through: o.ThroughMLPs, Clean: metric.Of(source.Logits()),
		Corrupted: metric.Of(whole.Logits())}
	base := t.Corrupted
	if o.Noising {
		t.Clean, t.Corrupted = t.Corrupted, t.Clean
	}
	if t.Clean == t.Corrupted {
		return nil, fmt.Errorf("the metric of both texts is %.4g, want two that differ in it",
			t.Clean)
	}
	g := &grid{o: o, m: m, rec: rec, own: own, tokens: to, common: whole.Matches(from), base: base}
	g.make()
	t.Rows = g.rows
	source.Release() // the runs may need the memory
	whole.Release()
	if o.Path != nil {
		t.ByGradient = &Approximation{Path: *o.Path}
		t.Values, err = t.byGradients(ctx, m, from, to, rec, own, o)
	}
	if err == nil && (o.Path == nil || o.Check) {
		exact, wrong := g.values(ctx, metric)
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

// plain returns the options with what zero values mean.
func (o PatchOptions) plain() PatchOptions {
	if o.At == 0 {
		o.At = model.ResidPre
	}
	if o.By == ByHead {
		o.By = ""
	}
	if o.Path != nil {
		o.Path = new(*o.Path)
	}
	return o
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
	if o.At != model.Pattern && !o.At.TakesEdits() || o.At.Once() {
		return fmt.Errorf("patch at %s: want points of a block that take edits",
			model.Point{Kind: o.At, Layer: model.AllLayers})
	}
	if err := o.checkGrain(m); err != nil {
		return err
	}
	if o.Path != nil {
		if err := o.Path.check(); err != nil {
			return err
		}
	}
	return metric.check(m)
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
