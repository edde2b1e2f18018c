package inside

// Ablation and knockout: what a Metric becomes without a part of the model, or without a token.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"picogpt/model"
)

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
}

// Ablate takes away each head ("head 3.1": its z, at all positions), each attention ("attn 3":
// hook_attn_out, with its bias) and each MLP ("mlp 3": hook_mlp_out), one at a time.
func Ablate(ctx context.Context, m *model.Model, tokens []int, metric Metric, o AblateOptions,
) (*Effects, error) {
	one, err := o.everywhere(ctx, m)
	if err != nil {
		return nil, err
	}
	return o.ablate(ctx, m, tokens, metric, one)
}

// everywhere returns what stands in the place of the parts at every position: zeros, or the means.
func (o *AblateOptions) everywhere(ctx context.Context, m *model.Model) (*record, error) {
	rec, err := newRecord(m, 1, partPoints...)
	if err != nil || o.Resample != nil {
		return rec, err
	}
	if o.Mean != nil {
		return rec, rec.means(ctx, m, o.Mean)
	}
	t, err := o.View.prepare(ctx, m, partPoints)
	if t == nil || err != nil {
		return rec, err
	}
	for i := range t.qkv {
		rec.rows[model.Point{Kind: model.Z, Layer: i}].data = t.values(i)
	}
	return rec, nil
}

// ablate is Ablate of a text, with what everywhere has returned.
func (o *AblateOptions) ablate(ctx context.Context, m *model.Model, tokens []int, metric Metric,
	rec *record) (*Effects, error) {
	err := checkAblate(m, tokens, metric, *o)
	if err == nil && o.Resample != nil {
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
				add(fmt.Sprintf("head %d.%d", p.Layer, h), h,
					all.head(h, m.Config().Head, 0, len(all.data)/all.width))
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

// together returns one run that takes away all of the parts that Together names.
func (o *AblateOptions) together(names []string, runs [][]model.Edit) ([]string, [][]model.Edit,
	error) {
	if o.Together == nil {
		return names, runs, nil
	}
	all := []model.Edit{}
	for _, name := range o.Together {
		i := slices.Index(names[1:], name)
		if i < 0 {
			return nil, nil, fmt.Errorf("part %q: want one such as \"head 3.1\", \"attn 3\" or "+
				"\"mlp 3\"", name)
		}
		all = append(all, runs[i+1]...)
	}
	return []string{names[0], "together"}, [][]model.Edit{nil, all}, nil
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
	if len(texts) == 0 {
		return errors.New("ablate: mean of no texts, want at least one")
	}
	for i, text := range texts {
		if err := checkText(m, text); err != nil {
			return fmt.Errorf("mean: text %d: %w", i, err)
		}
	}
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
	if err := cmp.Or(checkText(m, tokens), metric.check(m)); err != nil {
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
	return e, err
}
