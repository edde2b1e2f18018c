package model_test

// Check and New say the same.

import (
	"slices"
	"strings"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/model"
	"picogpt/weights"
)

func TestCheckSaysWhatNewSays(t *testing.T) {
	for name, o := range map[string]fixture.Options{
		"plain":   {},
		"f16":     {DType: weights.F16, Prefix: true},
		"bf16":    {DType: weights.BF16},
		"extra":   {Masks: true, Heads: true, Untied: true, Prefix: true},
		"layers":  {Config: map[string]any{"n_layer": 4}},
		"fewer":   {Config: map[string]any{"n_layer": 2}},
		"wide":    {Config: map[string]any{"n_embd": 18}},
		"no head": {Config: map[string]any{"tie_word_embeddings": false}},
	} {
		config, file := fixture.Checkpoint(o)
		c, err := model.ParseConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		tensors, err := weights.FromBytes("blind", file)
		if err != nil {
			t.Fatal(err)
		}
		blind := blinded(t, tensors)
		for about, given := range map[string]*weights.Tensors{"": tensors, ", blind": blind} {
			format, ignored, err := model.Check(c, given)
			m, want := model.New(t.Context(), c, tensors, model.Options{Threads: 1})
			switch {
			case want != nil:
				if err == nil || err.Error() != want.Error() {
					t.Errorf("%s%s: %v, want %v", name, about, err, want)
				}
			case err != nil:
				t.Errorf("%s%s: %v", name, about, err)
			case format != m.Format() || !slices.Equal(ignored, m.Ignored()):
				t.Errorf("%s%s: %s, %v, want %s, %v", name, about, format, ignored, m.Format(),
					m.Ignored())
			}
			if m != nil {
				m.Close()
			}
		}
	}
}

// blinded returns tensors whose elements must not be read.
func blinded(t *testing.T, all *weights.Tensors) *weights.Tensors {
	s := weights.Source{Name: "blind"}
	for _, x := range all.All() {
		x.Data = nil
		x.Fill = func([]byte, int64) error {
			t.Errorf("%s: an element is read", x.Name)
			return nil
		}
		s.Tensors = append(s.Tensors, x)
	}
	blind, err := weights.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return blind
}

func TestCheckKnowsQuantizedModels(t *testing.T) {
	config, file := fixture.Checkpoint(fixture.Options{})
	c, err := model.ParseConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	tensors, err := weights.FromBytes("plain", file)
	if err != nil {
		t.Fatal(err)
	}
	for _, format := range []string{"q8", "q4"} {
		m, err := model.New(t.Context(), c, tensors, model.Options{Threads: 1, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		var saved strings.Builder
		if err := m.SaveTo(t.Context(), &saved); err != nil {
			t.Fatal(err)
		}
		m.Close()
		quantized, err := weights.FromBytes(format, []byte(saved.String()))
		if err != nil {
			t.Fatal(err)
		}
		if got, _, err := model.Check(c, blinded(t, quantized)); got != format || err != nil {
			t.Errorf("%s: %s, %v", format, got, err)
		}
	}
}
