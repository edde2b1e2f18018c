// Package sae reads sparse dictionaries: sparse autoencoders and transcoders, in the folders that
// SAELens and Neuronpedia publish, with cfg.json and sae_weights.safetensors. A dictionary writes
// what a model computes at a point as a sum of few of many directions, its features.
//
//	d, err := sae.Open(os.DirFS(dir), false)
//	r, err := d.For(ctx, m)
//	text, err := r.Read(ctx, tokens)
//	edits, err := r.Edits(sae.Change{Feature: 123, To: 0})
//
// Its types, in the order to read them:
//
//   - [Config] is what cfg.json says; [Dictionary] has the weights too.
//   - [Reader] is a dictionary with its model; [Text] what it makes of a text, [Losses] what the
//     model predicts with that in place of what it computed.
//   - [Change] is what becomes of a feature.
//   - [Strongest] are the tokens at which features are strongest.
//   - [Explanations] are words for features.
//
// The numbers are SAELens's, in float32 of the weights as they are stored. Each sum has one order,
// so that they have the same bits on every machine.
package sae

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"picogpt/inside"
	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// The names of the files of a folder.
const (
	ConfigFile  = "cfg.json"
	WeightsFile = "sae_weights.safetensors"
)

// maxConfig bounds a cfg.json.
const maxConfig = 1 << 20

// A Dictionary is a sparse autoencoder, or a transcoder.
type Dictionary struct {
	Config

	file            *weights.Tensors
	enc, dec, bDec  []float32 // [in, features], [features, out], [out]
	bias, threshold []float32 // [features]; threshold is nil for zeros
	gain, shift     []float32 // [features] of gated ones: a feature is gain·(x·enc) + shift
	lengths         []float32 // [features] of rescaled ones: those of the decoder's rows
}

// Open opens a folder. processed says that its model was one that TransformerLens has processed, if
// cfg.json does not say how it was. The weights stay mapped until Close.
func Open(fsys fs.FS, processed bool) (_ *Dictionary, err error) {
	d := &Dictionary{}
	text, err := folder.Read(fsys, ConfigFile, maxConfig)
	if err == nil {
		d.Config, err = parse(text, processed)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", folder.Path(fsys, ConfigFile), err)
	}
	if d.file, err = weights.Open(fsys, WeightsFile); err != nil {
		return nil, err
	}
	if err = d.take(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", d.file.Name(), err), d.Close())
	}
	return d, nil
}

// Close unmaps the weights. The dictionary, and readers of it, must not be used after it.
func (d *Dictionary) Close() error { return d.file.Close() }

// Digest tells dictionaries apart. It reads all of the weights.
func (d *Dictionary) Digest() string {
	all := sha256.New()
	json.NewEncoder(all).Encode(d.Config)
	for _, t := range d.file.All() {
		fmt.Fprintf(all, "%q %d\n", t.Name, len(t.Data))
		all.Write(t.Data)
	}
	return hex.EncodeToString(all.Sum(nil))
}

// take finds the tensors.
func (d *Dictionary) take() error {
	n, each := d.Features, "b_enc"
	if d.gated {
		each = "b_gate r_mag b_mag"
	} else if d.jump {
		each += " threshold"
	}
	want := map[string][]int{"W_enc": {d.Width, n}, "W_dec": {n, d.OutWidth}, "b_dec": {d.OutWidth}}
	for _, name := range strings.Fields(each) {
		want[name] = []int{n}
	}
	has := map[string][]float32{}
	for _, t := range d.file.All() {
		shape, ok := want[t.Name]
		if delete(want, t.Name); !ok && t.Name != "scaling_factor" {
			return fmt.Errorf("%s: not of the architecture %s", quote.Short(t.Name, 40),
				d.Architecture)
		} else if ok && !slices.Equal(t.Shape, shape) {
			return fmt.Errorf("%s: shape %d, want %d", t.Name, t.Shape, shape)
		}
		x, err := t.Float32s()
		if err != nil {
			return err
		}
		if i := kernels.FirstNonFinite(x[:min(len(x), d.Width+n+d.OutWidth)]); i >= 0 {
			return fmt.Errorf("%s: number %d is not finite", t.Name, i) // others are seen in use
		}
		one := func(v float32) bool { return math.Abs(float64(v)-1) <= 1e-5 }
		if !ok && slices.ContainsFunc(x, func(v float32) bool { return !one(v) }) {
			return errors.New("scaling_factor (finetuning_scaling_factor): want all 1: SAELens 6 " +
				"takes no other")
		}
		has[t.Name] = x
	}
	for name := range want {
		return fmt.Errorf("%s: missing, want one of the architecture %s", name, d.Architecture)
	}
	d.enc, d.dec, d.bDec = has["W_enc"], has["W_dec"], has["b_dec"]
	d.bias, d.threshold = slices.Concat(has["b_enc"], has["b_gate"]), has["threshold"]
	d.gain, d.shift = has["r_mag"], has["b_mag"]
	d.gain = slices.Clone(d.gain)
	for i, v := range d.gain {
		d.gain[i] = float32(kernels.Exp64(float64(v)))
	}
	if d.Rescale {
		d.lengths = make([]float32, n)
		for i := range d.lengths {
			d.lengths[i] = float32(math.Sqrt(dot(d.direction(i), d.direction(i))))
		}
	}
	return nil
}

// direction returns the decoder's row of a feature.
func (d *Dictionary) direction(feature int) []float32 {
	return d.dec[feature*d.OutWidth : (feature+1)*d.OutWidth]
}

// dot returns x·y, in float64 and in order.
func dot(x, y []float32) (sum float64) {
	for i, v := range x {
		sum += float64(float64(v) * float64(y[i]))
	}
	return sum
}

// mean returns the mean of x.
func mean(x []float32) (sum float64) {
	for _, v := range x {
		sum += float64(v)
	}
	return sum / float64(len(x))
}

// A Reader is a dictionary with the model that it is read in.
type Reader struct {
	*Dictionary
	m        *model.Model
	from, to inside.Affine // from raw values to those of the view: of In and of Out
}

// For returns a reader of a model. It is an error if the dictionary is not one for the model.
func (d *Dictionary) For(ctx context.Context, m *model.Model) (r *Reader, err error) {
	r = &Reader{Dictionary: d, m: m}
	if _, err = m.Points(d.In, d.Out); err != nil {
		return nil, err
	}
	if in, out := m.Width(d.In, 0), m.Width(d.Out, 0); d.Width != in || d.OutWidth != out {
		return nil, fmt.Errorf("d_in %d and d_out %d, want %d and %d, the widths of %s and %s",
			d.Width, d.OutWidth, in, out, d.In, d.Out)
	}
	if r.from, err = d.View.Affine(ctx, m, d.In); err == nil {
		r.to, err = d.viewOut.Affine(ctx, m, d.Out)
	}
	return r, err
}
