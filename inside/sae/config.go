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

// A Config is what a folder's cfg.json says of a dictionary, as SAELens 6 has it, or those before.
// Fields that it has not say how the dictionary was trained, or where it runs.
type Config struct {
	Architecture string `json:"architecture"`
	Width        int    `json:"d_in"`
	Features     int    `json:"d_sae"`
	OutWidth     int    `json:"d_out"`                 // Width, unless a transcoder's
	K            int    `json:"k,omitempty"`           // of topk
	Normalize    any    `json:"normalize_activations"` // a string
	ApplyBDec    *bool  `json:"apply_b_dec_to_input"`
	Rescale      bool   `json:"rescale_acts_by_decoder_norm,omitempty"`
	Reshape      string `json:"reshape_activations,omitempty"`

	// SAELens 6 has these in metadata.
	In          model.Point    `json:"hook_name"`
	Out         model.Point    `json:"hook_name_out"` // In, unless a transcoder's
	Head        *int           `json:"hook_head_index,omitempty"`
	PrependBOS  *bool          `json:"prepend_bos"`
	Neuronpedia string         `json:"neuronpedia_id,omitempty"`
	Model       map[string]any `json:"model_from_pretrained_kwargs,omitempty"`

	// Of SAELens before 6.
	Activation    string          `json:"activation_fn,omitempty"`
	ActivationStr string          `json:"activation_fn_str,omitempty"`
	Arguments     struct{ K int } `json:"activation_fn_kwargs,omitzero"`
	HookPoint     *model.Point    `json:"hook_point,omitempty"` // before 3

	View  inside.View `json:"view"` // in which In is
	Notes []string    `json:"-"`    // what a user should know

	viewOut inside.View
	kind
}

// A kind is what architectures differ in.
type kind struct{ gated, jump, top, transcoder bool }

var kinds = map[string]kind{"standard": {}, "gated": {gated: true}, "jumprelu": {jump: true},
	"topk": {top: true}, "transcoder": {transcoder: true},
	"jumprelu_transcoder": {jump: true, transcoder: true}}

// parse reads a cfg.json, of a model that TransformerLens has processed if the file is silent.
func parse(text []byte, processed bool) (c Config, err error) {
	var newer struct{ Metadata json.RawMessage }
	nowhere := model.Point{Kind: model.ResidPre, Layer: model.AllLayers}
	c.In, c.Out = nowhere, nowhere
	if err = cmp.Or(json.Unmarshal(text, &c), json.Unmarshal(text, &newer)); err != nil {
		return c, err
	}
	old := newer.Metadata == nil
	if !old {
		err = json.Unmarshal(newer.Metadata, &c)
	} else if c.Architecture = cmp.Or(c.Architecture, "standard"); c.HookPoint != nil {
		c.In, processed = *c.HookPoint, true // as SAELens loaded models then
	}
	yes := true
	c.ApplyBDec = cmp.Or(c.ApplyBDec, &yes)
	c.PrependBOS = cmp.Or(c.PrependBOS, &old)
	c.Activation = cmp.Or(c.Activation, c.ActivationStr, "relu")
	if old && c.Activation == "topk" {
		c.Architecture, c.Activation, c.K = "topk", "relu", cmp.Or(c.K, c.Arguments.K)
	}
	c.kind = kinds[c.Architecture]
	if !c.transcoder {
		c.Out, c.OutWidth = c.In, c.Width
	}
	switch c.Normalize {
	case nil, false:
		c.Normalize = "none"
	case true:
		c.Normalize = "expected_average_only_in"
	}
	if err = cmp.Or(err, c.check()); err == nil {
		c.View, err = c.view(c.In, processed)
	}
	if err == nil {
		c.viewOut, err = c.view(c.Out, processed)
	}
	if c.View == inside.TransformerLens || c.viewOut == inside.TransformerLens {
		c.Notes = append(c.Notes, "made for a model that TransformerLens has processed: what it "+
			"reads is as with --as transformerlens")
	}
	return c, err
}

// harmless are what may be said of the model. The first three make its view; the others change no
// number of it.
const harmless = "center_writing_weights fold_ln fold_value_biases center_unembed dtype " +
	"torch_dtype device n_devices device_map default_prepend_bos default_padding_side"

// check refuses what would change the numbers.
func (c *Config) check() error {
	if _, ok := kinds[c.Architecture]; !ok {
		return fmt.Errorf("architecture: %s, want %s", quote.Short(c.Architecture, 40),
			strings.Join(slices.Sorted(maps.Keys(kinds)), ", "))
	}
	for name := range c.Model {
		if !slices.Contains(strings.Fields(harmless), name) {
			return fmt.Errorf("model_from_pretrained_kwargs: %s, want none but %s",
				quote.Short(name, 40), harmless)
		}
	}
	switch c.Normalize {
	case "none", "layer_norm", "constant_norm_rescale":
	case "expected_average_only_in", "covariance_whitening":
		c.Notes = append(c.Notes, fmt.Sprintf("normalize_activations %s: taken as folded into the "+
			"weights, as SAELens does with a folder", c.Normalize))
	default:
		return fmt.Errorf("normalize_activations: %s, want none, layer_norm, "+
			"constant_norm_rescale, expected_average_only_in or covariance_whitening",
			quote.Short(fmt.Sprint(c.Normalize), 40))
	}
	for _, field := range []struct {
		wrong bool
		name  string
		has   any
		want  string
	}{
		{c.In.Layer == model.AllLayers, "hook_name", "", "a point of one layer"},
		{c.Out.Layer == model.AllLayers, "hook_name_out", "", "a point of one layer"},
		{c.Head != nil, "hook_head_index", "a head", "null, a dictionary of all heads"},
		{c.Activation != "relu", "activation_fn", c.Activation, "relu, or topk"},
		{c.Width < 1 || c.OutWidth < 1, "d_in, d_out", []int{c.Width, c.OutWidth}, "1 or more"},
		{c.Features < 1, "d_sae", c.Features, "1 or more"},
		{c.top && (c.K < 1 || c.K > c.Features), "k", c.K, "1 to d_sae"},
		{c.Rescale && !c.top, "rescale_acts_by_decoder_norm", true, "topk with it"},
		{c.transcoder && *c.ApplyBDec, "apply_b_dec_to_input", true, "false of a transcoder"},
		{c.Reshape != "" && c.Reshape != "none" && c.Reshape != "hook_z", "reshape_activations",
			c.Reshape, "none or hook_z"},
	} {
		if field.wrong {
			return fmt.Errorf("%s: %s, want %s", field.name,
				quote.Short(fmt.Sprint(field.has), 40), field.want)
		}
	}
	return nil
}

// view returns that of a point. processed says what an absent model_from_pretrained_kwargs means.
func (c *Config) view(p model.Point, processed bool) (inside.View, error) {
	by := "center_writing_weights"
	switch p.Kind {
	case model.Value, model.Z:
		if by = "fold_ln"; (c.Model[by] == true) != (c.Model["fold_value_biases"] == true) {
			return "", errors.New("model_from_pretrained_kwargs: fold_ln, fold_value_biases: " +
				"want both or none")
		}
	case model.LN1Normalized, model.LN2Normalized, model.FinalNormalized:
		return inside.TransformerLens, nil // whose hook_normalized is before gain and bias
	default:
		if !p.Kind.TakesEdits() {
			return "", fmt.Errorf("hook_name: %s, want a point with a vector for each token", p)
		}
	}
	if c.Model[by] == true || c.Model == nil && processed {
		return inside.TransformerLens, nil
	}
	return inside.Raw, nil
}
