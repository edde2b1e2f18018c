package sae

// Configurations: what a cfg.json says, each field honoured or refused by name.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"picogpt/inside"
	"picogpt/internal/quote"
	"picogpt/model"
)

// A Config is what a folder's cfg.json says of a dictionary.
type Config struct {
	Architecture string      `json:"architecture"`
	In           model.Point `json:"hook_name"`     // what it reads
	Out          model.Point `json:"hook_name_out"` // what its features add up to: In, unless a transcoder's
	View         inside.View `json:"view"`          // in which In is
	PrependBOS   bool        `json:"prepend_bos"`
	Normalize    string      `json:"normalize_activations"`
	K            int         `json:"k,omitempty"` // of topk
	Neuronpedia  string      `json:"neuronpedia_id,omitempty"`
	Notes        []string    `json:"-"` // what a user should know

	kind
	viewOut   inside.View
	applyBDec bool // b_dec is taken from the input
	rescale   bool // topk is by the lengths of the decoder's rows, too
}

// A kind is what architectures differ in.
type kind struct{ gated, jump, top, transcoder bool }

var kinds = map[string]kind{"standard": {}, "gated": {gated: true}, "jumprelu": {jump: true},
	"topk": {top: true}, "transcoder": {transcoder: true},
	"jumprelu_transcoder": {jump: true, transcoder: true}}

// fields are those of cfg.json that are read. SAELens 6 has those from Hook on in metadata. All
// others say how it was trained, or where it runs.
type fields struct {
	Architecture   string          `json:"architecture"`
	In             int             `json:"d_in"`
	Features       int             `json:"d_sae"`
	Out            int             `json:"d_out"`
	Activation     string          `json:"activation_fn"`
	ActivationStr  string          `json:"activation_fn_str"`
	ActivationArgs struct{ K int } `json:"activation_fn_kwargs"`
	K              int             `json:"k"`
	ApplyBDec      *bool           `json:"apply_b_dec_to_input"`
	Normalize      any             `json:"normalize_activations"`
	Reshape        string          `json:"reshape_activations"`
	Rescale        bool            `json:"rescale_acts_by_decoder_norm"`
	Metadata       json.RawMessage `json:"metadata"`
	Hook           string          `json:"hook_name"`
	HookPoint      string          `json:"hook_point"` // of SAELens before 3
	HookOut        string          `json:"hook_name_out"`
	Head           *int            `json:"hook_head_index"`
	PrependBOS     *bool           `json:"prepend_bos"`
	Neuronpedia    string          `json:"neuronpedia_id"`
	Model          map[string]any  `json:"model_from_pretrained_kwargs"`
}

// parse reads a cfg.json, of a model that TransformerLens has processed if the file is silent.
func parse(text []byte, processed bool) (c Config, f fields, err error) {
	if err = json.Unmarshal(text, &f); err == nil && f.Metadata != nil {
		err = json.Unmarshal(f.Metadata, &f)
	}
	if err != nil {
		return c, f, err
	}
	old := f.Metadata == nil
	c = Config{Architecture: f.Architecture, Neuronpedia: f.Neuronpedia, rescale: f.Rescale,
		PrependBOS: f.PrependBOS == nil && old || f.PrependBOS != nil && *f.PrependBOS,
		applyBDec:  f.ApplyBDec == nil || *f.ApplyBDec}
	f.Activation = cmp.Or(f.Activation, f.ActivationStr, "relu")
	if old && f.Activation == "topk" {
		c.Architecture, f.Activation = "topk", "relu"
	} else if old {
		c.Architecture = cmp.Or(c.Architecture, "standard")
	}
	var ok bool
	if c.kind, ok = kinds[c.Architecture]; !ok {
		return c, f, fmt.Errorf("architecture: %s, want %s", quote.Short(c.Architecture, 40),
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	if c.top {
		c.K = cmp.Or(f.K, f.ActivationArgs.K)
	}
	if c.Normalize, ok = f.Normalize.(string); !ok {
		c.Normalize = "none"
		if f.Normalize == true {
			c.Normalize = "expected_average_only_in"
		}
	}
	if err = f.check(&c); err == nil {
		err = f.place(&c, processed || f.HookPoint != "") // as SAELens loaded models then
	}
	return c, f, err
}

// check refuses what would change the numbers.
func (f *fields) check(c *Config) error {
	switch c.Normalize {
	case "none", "layer_norm", "constant_norm_rescale":
	case "expected_average_only_in", "covariance_whitening":
		c.Notes = append(c.Notes, "normalize_activations "+c.Normalize+
			": taken as folded into the weights, as SAELens does with a folder")
	default:
		return fmt.Errorf("normalize_activations: %s, want none, layer_norm, "+
			"constant_norm_rescale, expected_average_only_in or covariance_whitening",
			quote.Short(c.Normalize, 40))
	}
	switch {
	case f.Activation != "relu":
		return fmt.Errorf("activation_fn: %s, want relu or topk", quote.Short(f.Activation, 40))
	case f.In < 1 || f.Features < 1 || f.Out < 0:
		return fmt.Errorf("d_in %d, d_sae %d: want 1 or more", f.In, f.Features)
	case c.top && (c.K < 1 || c.K > f.Features):
		return fmt.Errorf("k: %d, want 1 to %d (d_sae)", c.K, f.Features)
	case c.rescale && !c.top:
		return errors.New("rescale_acts_by_decoder_norm: true, want topk with it")
	case c.transcoder && c.applyBDec:
		return errors.New("apply_b_dec_to_input: want false of a transcoder")
	case f.Head != nil:
		return fmt.Errorf("hook_head_index: %d, want null, a dictionary of all heads", *f.Head)
	case f.Reshape != "" && f.Reshape != "none" && f.Reshape != "hook_z":
		return fmt.Errorf("reshape_activations: %s, want none or hook_z", quote.Short(f.Reshape, 40))
	}
	return nil
}

// harmless are what may be said of the model. The first three make its view; the others change no
// number of it.
const harmless = "center_writing_weights fold_ln fold_value_biases center_unembed dtype " +
	"torch_dtype device n_devices device_map default_prepend_bos default_padding_side"

// place takes what the dictionary reads, and of which view of the model. old says what an absent
// model_from_pretrained_kwargs means.
func (f *fields) place(c *Config, old bool) (err error) {
	if c.In, err = model.ParsePoint(cmp.Or(f.Hook, f.HookPoint)); err != nil {
		return fmt.Errorf("hook_name: %w", err)
	}
	if c.Out = c.In; c.transcoder {
		if c.Out, err = model.ParsePoint(f.HookOut); err != nil {
			return fmt.Errorf("hook_name_out: %w", err)
		}
	}
	for name := range f.Model {
		if !slices.Contains(strings.Fields(harmless), name) {
			return fmt.Errorf("model_from_pretrained_kwargs: %s, want none but %s",
				quote.Short(name, 40), harmless)
		}
	}
	if c.View, err = f.view(c.In, old); err == nil {
		c.viewOut, err = f.view(c.Out, old)
	}
	if c.View == inside.TransformerLens || c.viewOut == inside.TransformerLens {
		c.Notes = append(c.Notes, "made for a model that TransformerLens has processed: what it "+
			"reads is as with --as transformerlens")
	}
	return err
}

// view returns that of a point.
func (f *fields) view(p model.Point, old bool) (inside.View, error) {
	by := "center_writing_weights"
	switch p.Kind {
	case model.Value, model.Z:
		if by = "fold_ln"; f.Model[by] != f.Model["fold_value_biases"] {
			return "", errors.New("model_from_pretrained_kwargs: fold_ln, fold_value_biases: want " +
				"both or none")
		}
	case model.LN1Normalized, model.LN2Normalized, model.FinalNormalized:
		return inside.TransformerLens, nil // whose hook_normalized is before gain and bias
	default:
		if !p.Kind.TakesEdits() {
			return "", fmt.Errorf("hook_name: %s, want a point with a vector for each token", p)
		}
	}
	if f.Model[by] == true || f.Model == nil && old {
		return inside.TransformerLens, nil
	}
	return inside.Raw, nil
}
