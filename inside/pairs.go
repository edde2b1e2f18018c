package inside

// Many pairs of texts: patches, attributions and ablations of each, with their means and spreads.

import (
	"context"
	"errors"
	"fmt"
	"math"

	"picogpt/model"
)

// A Pair is a clean text and a corrupted one, and what is asked of both.
type Pair struct {
	Clean, Corrupted []int
	Metric           Metric
}

// An Average is the mean of some numbers and their spread: the standard deviation, with n−1, which
// is 0 for one.
type Average struct {
	Mean   float64 `json:"mean"`
	Spread float64 `json:"spread"`
}

func average(x []float64) (a Average) {
	for _, v := range x {
		a.Mean += v
	}
	a.Mean /= float64(len(x))
	for _, v := range x {
		d := v - a.Mean
		a.Spread += float64(d * d)
	}
	a.Spread = math.Sqrt(a.Spread / float64(max(1, len(x)-1)))
	return a
}

// PatchSet is Patch of many pairs.
type PatchSet struct {
	Clean     Average       `json:"clean"` // of the Metrics
	Corrupted Average       `json:"corrupted"`
	Values    [][]Average   `json:"values"` // as those of each table
	Share     [][]float64   `json:"share"`  // of the means: (value − corrupted)/(clean − corrupted)
	Pairs     []*PatchTable `json:"pairs"`
}

// PatchAll is Patch of each pair, with the means over all. The texts must have as many tokens where
// positions are patched.
func PatchAll(ctx context.Context, m *model.Model, pairs []Pair, o PatchOptions) (*PatchSet, error) {
	if err := CheckPatch(m, pairs, o); err != nil {
		return nil, err
	}
	s, progress := &PatchSet{}, o.Progress
	err := eachPair(pairs, nil, func(i int, p Pair) error {
		if progress != nil {
			o.Progress = func(run, runs int) { progress(i*runs+run, len(pairs)*runs) }
		}
		t, err := Patch(ctx, m, p.Clean, p.Corrupted, p.Metric, o)
		s.Pairs = append(s.Pairs, t)
		return err
	})
	if err != nil {
		return nil, err
	}
	over := func(of func(*PatchTable) float64) Average {
		var all []float64
		for _, t := range s.Pairs {
			all = append(all, of(t))
		}
		return average(all)
	}
	s.Clean = over(func(t *PatchTable) float64 { return t.Clean })
	s.Corrupted = over(func(t *PatchTable) float64 { return t.Corrupted })
	if s.Clean.Mean == s.Corrupted.Mean {
		return nil, fmt.Errorf("the metric of both texts is %.4g in the mean, want pairs that "+
			"differ in it", s.Clean.Mean)
	}
	for l, row := range s.Pairs[0].Values {
		values, share := make([]Average, len(row)), make([]float64, len(row))
		for j := range row {
			values[j] = over(func(t *PatchTable) float64 { return t.Values[l][j] })
			share[j] = (values[j].Mean - s.Corrupted.Mean) / (s.Clean.Mean - s.Corrupted.Mean)
		}
		s.Values, s.Share = append(s.Values, values), append(s.Share, share)
	}
	return s, nil
}

// CheckPatch returns the error that PatchAll has before anything is evaluated.
func CheckPatch(m *model.Model, pairs []Pair, o PatchOptions) error {
	o = o.plain()
	return eachPair(pairs, nil, func(_ int, p Pair) error {
		if o.positions() && len(p.Clean) != len(pairs[0].Clean) {
			return fmt.Errorf("%d tokens, want %d as pair 0 has, because positions are averaged",
				len(p.Clean), len(pairs[0].Clean))
		}
		return checkPatch(m, p.Clean, p.Corrupted, p.Metric, o)
	})
}

// eachPair calls f for each pair, up to the first error, which names the pair if there are several.
func eachPair(pairs []Pair, progress func(done, pairs int), f func(i int, p Pair) error) error {
	if len(pairs) == 0 {
		return errors.New("no pairs, want at least one")
	}
	for i, p := range pairs {
		if err := f(i, p); err != nil && len(pairs) == 1 {
			return err
		} else if err != nil {
			return fmt.Errorf("pair %d: %w", i, err)
		}
		if progress != nil {
			progress(i+1, len(pairs))
		}
	}
	return nil
}

// A PartSet is parts of many texts.
type PartSet struct {
	Difference Average     `json:"difference"` // the Metrics of the whole model
	Parts      []MeanPart  `json:"parts"`
	Texts      []*PartText `json:"texts"`
	Neurons    []MeanPart  `json:"neurons,omitempty"` // as Attribution's, by their means
}

// A MeanPart is a part and its values over all texts.
type MeanPart struct {
	Name string `json:"name"`
	Average
}

// A PartText is the parts of one text.
type PartText struct {
	Metric
	IDs        []int   `json:"ids"`
	Difference float64 `json:"difference"`
	Parts      Parts   `json:"parts"`
}

// newPartSet takes the parts of each pair, and their means.
func newPartSet(pairs []Pair, progress func(done, pairs int),
	of func(Pair, *PartText) error) (*PartSet, error) {
	s := &PartSet{}
	err := eachPair(pairs, progress, func(_ int, p Pair) error {
		t := &PartText{Metric: p.Metric, IDs: p.Clean}
		s.Texts = append(s.Texts, t)
		return of(p, t)
	})
	if err != nil {
		return nil, err
	}
	var all []float64
	for _, t := range s.Texts {
		all = append(all, t.Difference)
	}
	s.Difference = average(all)
	for i, part := range s.Texts[0].Parts {
		for k, t := range s.Texts {
			all[k] = t.Parts[i].Value
		}
		s.Parts = append(s.Parts, MeanPart{part.Name, average(all)})
	}
	return s, nil
}

// AttributeAll is Attribute of the clean text of each pair.
func AttributeAll(ctx context.Context, m *model.Model, pairs []Pair, o AttributeOptions,
	progress func(done, pairs int)) (*PartSet, error) {
	var mean, squares []float64 // of neurons so far: Welford's
	seen := 0.0
	s, err := newPartSet(pairs, progress, func(p Pair, t *PartText) error {
		a, err := Attribute(ctx, m, p.Clean, p.Metric, o)
		if err != nil {
			return err
		}
		t.Difference, t.Parts = a.Difference, a.Parts
		if seen++; mean == nil {
			mean, squares = make([]float64, len(a.neurons)), make([]float64, len(a.neurons))
		}
		for i, v := range a.neurons {
			d := v - mean[i]
			mean[i] += d / seen
			squares[i] += float64(d * (v - mean[i]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, i := range largest(mean, o.Neurons) {
		s.Neurons = append(s.Neurons, MeanPart{neuronName(m, i),
			Average{mean[i], math.Sqrt(squares[i] / max(1, seen-1))}})
	}
	return s, nil
}

// AblateAll is Ablate of the clean text of each pair. With resample, what each corrupted text has
// stands in the place of the parts.
func AblateAll(ctx context.Context, m *model.Model, pairs []Pair, resample bool, o AblateOptions,
	progress func(done, pairs int)) (*PartSet, error) {
	one, err := o.everywhere(ctx, m)
	if err != nil {
		return nil, err
	}
	return newPartSet(pairs, progress, func(p Pair, t *PartText) error {
		if resample {
			o.Resample = p.Corrupted
		}
		e, err := o.ablate(ctx, m, p.Clean, p.Metric, one)
		if err == nil {
			t.Difference, t.Parts = e.Difference, e.Parts
		}
		return err
	})
}
