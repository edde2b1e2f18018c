package inside

// Experiments that change a text's pass at one place at a time: sweeps of any edits, activation
// patching, ablation and attention knockout.

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
	IDs       [2][]int // of the clean text and of the corrupted one
	At        model.Kind
	Noising   bool
	Clean     float64 // the Metric of the clean text
	Corrupted float64 // that of the corrupted one

	// [n_layer][tokens], one position patched; or [n_layer][n_head], one head patched at all
	// positions, where heads have values of their own.
	Values [][]float64

	// (value − Corrupted)/(Clean − Corrupted): 1 where the Metric is the clean text's, 0 where it
	// is the corrupted one's. So it is what has been restored, or with Noising what has been left.
	Share [][]float64

	ByGradient *Approximation // nil: each value is a run
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
		return nil, fmt.Errorf("the metric of both texts is %.4g, want two that differ in it",
			t.Clean)
	}
	runs := patches(m, rec, whole.Matches(from))
	source.Release() // the runs may need the memory
	whole.Release()
	if o.Path == nil {
		return t, t.sweep(ctx, m, to, runs, o.Progress)
	}
	t.ByGradient = &Approximation{Path: *o.Path}
	err = t.byGradients(ctx, m, to, rec, o)
	if err == nil && o.Check {
		exact := *t
		exact.Values, exact.Share = nil, nil
		if err = exact.sweep(ctx, m, to, runs, o.Progress); err == nil {
			t.ByGradient.compare(exact.Values, t.Values)
		}
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

	ByGradient *Approximation `json:"by_gradient,omitempty"`
}

// MarshalJSON writes {"target":1,"ids":[[…],[…]],"clean":4,"corrupted":-3,"share":[[…]],
// "hook_resid_pre":[[…]]}.
func (t *PatchTable) MarshalJSON() ([]byte, error) {
	b, err := json.Marshal(patchJSON{t.Metric, t.IDs, t.Clean, t.Corrupted, t.Noising, t.Share,
		t.ByGradient})
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

// Effects hold what a Metric becomes when one part of the model at a time is changed.
type Effects struct {
	Metric
	Difference float64 `json:"difference"` // the Metric of the unedited model

	// The Metric with each of the parts changed, in the order in which they are computed.
	Parts Parts `json:"parts"`
}

// AblateOptions say what stands in the place of what a part has computed. The zero value means
// zeros.
type AblateOptions struct {
	// Mean, if not nil, are texts: the mean of the part over all their tokens, each of which counts
	// the same, stands at every position.
	Mean [][]int

	// Resample, if not nil, is another text of the same length: what the part computes for it
	// stands at the same positions.
	Resample []int

	View View // in which the zeros are; "" is Raw

	// Together, if not nil, are names of parts that are all taken away at once: "together".
	Together []string

	means *record // of Mean, once they are computed
}

// Ablate takes away each head ("head 3.1": its z, at all positions), each attention ("attn 3":
// hook_attn_out, with its bias) and each MLP ("mlp 3": hook_mlp_out), one at a time.
func Ablate(ctx context.Context, m *model.Model, tokens []int, metric Metric, o AblateOptions,
) (*Effects, error) {
	return o.ablate(ctx, m, tokens, metric)
}

// ablate is Ablate, and keeps the means for the next text.
func (o *AblateOptions) ablate(ctx context.Context, m *model.Model, tokens []int, metric Metric,
) (*Effects, error) {
	if err := checkAblate(m, tokens, metric, *o); err != nil {
		return nil, err
	}
	rec, err := newRecord(m, 1, partPoints...) // one row, of zeros, for all tokens
	if err != nil {
		return nil, err
	}
	switch t, wrong := o.View.prepare(ctx, m, partPoints); {
	case wrong != nil:
		return nil, wrong
	case t != nil && o.Mean == nil && o.Resample == nil:
		for i := range t.qkv {
			rec.rows[model.Point{Kind: model.Z, Layer: i}].data = t.values(i)
		}
	case o.means != nil:
		rec = o.means
	case o.Mean != nil:
		err = rec.means(ctx, m, o.Mean)
		o.means = rec
	case o.Resample != nil:
		if rec, err = newRecord(m, len(tokens), partPoints...); err == nil {
			s := m.NewSession()
			defer s.Release()
			err = rec.run(ctx, s, o.Resample, 0)
		}
	}
	if err != nil {
		return nil, err
	}
	names, runs := []string{"all"}, [][]model.Edit{nil}
	for _, p := range rec.points {
		add := func(name string, head int, values []float32) {
			names = append(names, name)
			runs = append(runs, []model.Edit{{At: p, Head: head, Op: model.Set, To: len(tokens),
				Values: values}})
		}
		switch all := rec.rows[p]; p.Kind {
		case model.Z:
			for h := range m.Config().Head {
				add(fmt.Sprintf("head %d.%d", p.Layer, h), h, all.head(h, m.Config().Head, 0))
			}
		case model.AttnOut:
			add(fmt.Sprintf("attn %d", p.Layer), model.AllHeads, all.data)
		case model.MLPOut:
			add(fmt.Sprintf("mlp %d", p.Layer), model.AllHeads, all.data)
		}
	}
	if names, runs, err = o.together(names, runs); err != nil {
		return nil, err
	}
	return effects(ctx, m, tokens, metric, names, runs)
}

// partPoints are where Ablate takes parts away.
var partPoints = []model.Point{{Kind: model.Z, Layer: model.AllLayers},
	{Kind: model.AttnOut, Layer: model.AllLayers}, {Kind: model.MLPOut, Layer: model.AllLayers}}

func checkAblate(m *model.Model, tokens []int, metric Metric, o AblateOptions) error {
	if err := checkText(m, tokens); err != nil {
		return err
	}
	if o.Mean != nil && o.Resample != nil {
		return errors.New("ablate: mean and resample, want one of them")
	}
	if o.Mean != nil && len(o.Mean) == 0 {
		return errors.New("ablate: mean of no texts, want at least one")
	}
	for i, text := range o.Mean {
		if err := checkText(m, text); err != nil {
			return fmt.Errorf("mean: text %d: %w", i, err)
		}
	}
	if o.Resample != nil {
		if len(o.Resample) != len(tokens) {
			return fmt.Errorf("resample: %d tokens, want %d as the text has", len(o.Resample),
				len(tokens))
		}
		if err := checkText(m, o.Resample); err != nil {
			return fmt.Errorf("resample: %w", err)
		}
	}
	return metric.check(m)
}

// means fills a record of one row with the means of its points over all tokens of some texts. The
// sums are in float64, token by token.
func (r *record) means(ctx context.Context, m *model.Model, texts [][]int) error {
	sums, count := map[model.Point][]float64{}, 0
	for _, text := range texts {
		part, err := newRecord(m, len(text), r.points...)
		if err != nil {
			return err
		}
		s := m.NewSession()
		err = part.run(ctx, s, text, 0)
		s.Release()
		if err != nil {
			return err
		}
		for _, p := range r.points {
			v := part.rows[p]
			if sums[p] == nil {
				sums[p] = make([]float64, v.width)
			}
			for i, x := range v.data {
				sums[p][i%v.width] += float64(x)
			}
		}
		count += len(text)
	}
	for p, sum := range sums {
		for i, x := range sum {
			r.rows[p].data[i] = float32(x / float64(count))
		}
	}
	return nil
}

// Knockout hides each position from the last token, one at a time ("token 0" and so on), and so
// says from where the last token gets what the Metric needs: in the heads of a layer, or one of
// them; model.AllLayers and model.AllHeads stand for all. Source: Geva et al., "Dissecting Recall
// of Factual Associations in Auto-Regressive Language Models", 2023.
func Knockout(ctx context.Context, m *model.Model, tokens []int, metric Metric, layer, head int,
) (*Effects, error) {
	if err := checkText(m, tokens); err != nil {
		return nil, err
	}
	if err := metric.check(m); err != nil {
		return nil, err
	}
	last := len(tokens) - 1
	names, runs := []string{"all"}, [][]model.Edit{nil}
	for i := range tokens {
		names = append(names, fmt.Sprintf("token %d", i))
		runs = append(runs, []model.Edit{{At: model.Point{Kind: model.Pattern, Layer: layer},
			Head: head, Op: model.Hide, From: last, To: last + 1, KeysFrom: i, KeysTo: i + 1}})
	}
	if err := m.CheckEdits(runs[1]); err != nil {
		return nil, fmt.Errorf("knockout: %w", err)
	}
	return effects(ctx, m, tokens, metric, names, runs)
}

// effects evaluates a text once for each part: the first is the whole model.
func effects(ctx context.Context, m *model.Model, tokens []int, metric Metric, names []string,
	runs [][]model.Edit) (*Effects, error) {
	e := &Effects{Metric: metric}
	err := Sweep(ctx, m, tokens, runs, func(run int, logits []float32) {
		if value := metric.Of(logits); run == 0 {
			e.Difference = value
		} else {
			e.Parts = append(e.Parts, Part{names[run], value})
		}
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}
