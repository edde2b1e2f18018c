package inside

// Tuned lenses: an affine map for each layer, as the package tuned-lens publishes them.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/torch"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/model/stack"
)

// A Tuned lens translates what a layer's residual stream holds to what the last one would: h
// becomes h + A·h + b, before ln_f and W_U. Source: Belrose et al., "Eliciting Latent Predictions
// from Transformers with the Tuned Lens", 2023.
type Tuned struct {
	layers []stack.Linear // [n_layer]: A and b for the residual stream before each block
	file   *torch.File
}

// maxTunedConfig bounds the config.json of a lens.
const maxTunedConfig = 1 << 20

// OpenTuned opens the folder of a tuned lens: config.json, with d_model and num_hidden_layers, and
// params.pt, with "0.weight", "0.bias" and so on for each block. A config that says that the lens
// is of other sizes than the model is an error, as are missing, other and misshapen tensors. The
// file stays mapped until Close.
func OpenTuned(dir string, m *model.Model) (_ *Tuned, err error) {
	fsys := folder.Dir(dir)
	const config, params = "config.json", "params.pt"
	b, err := folder.Read(fsys, config, maxTunedConfig)
	if err == nil {
		err = checkTunedConfig(b, m.Config())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fsys.Path(config), err)
	}
	t := &Tuned{}
	if t.file, err = torch.Open(fsys, params); err == nil {
		if err = t.take(m.Config()); err != nil {
			err = errors.Join(err, t.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", fsys.Path(params), err)
	}
	return t, nil
}

// Close unmaps the file of the lens, which must not be used after it.
func (t *Tuned) Close() error { return t.file.Close() }

// checkTunedConfig checks the sizes that a lens's config.json tells.
func checkTunedConfig(b []byte, c model.Config) error {
	var config struct {
		Type   *string `json:"lens_type"`
		Width  *int    `json:"d_model"`
		Layers *int    `json:"num_hidden_layers"`
	}
	switch err := json.Unmarshal(b, &config); {
	case err != nil:
		return err
	case config.Type != nil && *config.Type != "linear_tuned_lens":
		return fmt.Errorf("lens_type: %s, want linear_tuned_lens", quote.Plain(*config.Type, 40))
	case config.Width == nil:
		return errors.New("d_model: missing")
	case *config.Width != c.Embd:
		return fmt.Errorf("d_model: %d, want %d (n_embd)", *config.Width, c.Embd)
	case config.Layers == nil:
		return errors.New("num_hidden_layers: missing")
	case *config.Layers != c.Layer:
		return fmt.Errorf("num_hidden_layers: %d, want %d (n_layer)", *config.Layers, c.Layer)
	}
	return nil
}

// take finds the tensors of each layer.
func (t *Tuned) take(c model.Config) error {
	saved, err := t.file.Dict()
	if err != nil {
		return err
	}
	taken := map[string]bool{}
	tensor := func(name string, shape ...int) ([]float32, error) {
		taken[name] = true
		found, err := t.file.Tensor(name)
		if err != nil {
			return nil, err
		}
		w, err := found.Weights(name)
		if err == nil && !slices.Equal(w.Shape, shape) {
			err = fmt.Errorf("%s: shape %v, want %v", name, w.Shape, shape)
		}
		if err != nil {
			return nil, err
		}
		x, err := w.Float32s()
		if i := kernels.FirstNonFinite(x); i >= 0 {
			return nil, fmt.Errorf("%s: value %d is not finite", name, i)
		}
		return x, err
	}
	for i := range c.Layer {
		name := strconv.Itoa(i)
		weight, err := tensor(name+".weight", c.Embd, c.Embd)
		if err != nil {
			return err
		}
		bias, err := tensor(name+".bias", c.Embd)
		if err != nil {
			return err
		}
		t.layers = append(t.layers, stack.Linear{Bias: bias, Weight: kernels.Matrix{
			Format: kernels.F32, Layout: kernels.OutIn, In: c.Embd, Out: c.Embd, F32: weight}})
	}
	for _, key := range saved.Keys {
		if name, ok := key.(string); !ok || !taken[name] {
			return fmt.Errorf("%s: not of a tuned lens of %d layers",
				quote.Plain(fmt.Sprint(key), 40), c.Layer)
		}
	}
	return nil
}

// check returns an error unless the lens, if there is one, is for the model.
func (t *Tuned) check(m *model.Model) error {
	if t == nil {
		return nil
	}
	if c := m.Config(); len(t.layers) != c.Layer || len(t.layers[0].Bias) != c.Embd {
		return fmt.Errorf("tuned lens: %d layers of width %d, want %d of %d", len(t.layers),
			len(t.layers[0].Bias), c.Layer, c.Embd)
	}
	return nil
}

// translate applies the lens to the rows of a group of n positions, all layers but the last. It
// uses l.norm, which has room for two layers at least, and is written later.
func (t *Tuned) translate(w *kernels.Worker, l *lens, n int) {
	if t == nil {
		return
	}
	width, embd := l.layers+1, l.m.Config().Embd
	rows, moved := l.norm[:n*embd], l.norm[n*embd:2*n*embd]
	for i := range t.layers {
		row := func(r int) []float32 { return l.x[(r*width+i)*embd:][:embd] }
		for r := w.Next(); r < n; r = w.Next() {
			copy(rows[r*embd:(r+1)*embd], row(r))
		}
		w.Sync()
		kernels.Linear(w, moved, rows, n, &t.layers[i].Weight, t.layers[i].Bias)
		for r := w.Next(); r < n; r = w.Next() {
			w.Plus(row(r), moved[r*embd:(r+1)*embd])
		}
		w.Sync()
	}
}
