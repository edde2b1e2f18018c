package main

// --ablate, --hide and --steer beside what float64 says of the same edits.

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"testing"

	"picogpt/dev/fixture"
	"picogpt/inside/steer"
	"picogpt/model"
)

func TestFlagsAreTheEditsOfTheAnswers(t *testing.T) {
	answers, err := fixture.Inside()
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string]editFlags{
		"ablate head 3.1": {Ablate: []string{"3.1"}},
		"ablate mlp 2":    {Ablate: []string{"mlp_out.2"}},
		"hide one":        {Hide: []string{"18:17@2.0"}},
	}
	for _, c := range answers.Cases {
		if c.Name == "steer" {
			path := filepath.Join(t.TempDir(), "v.gguf")
			f, err := os.Create(path)
			if err != nil {
				t.Fatal(err)
			}
			noise := make([]float32, 128)
			noise[7] = 3
			err = steer.Vector{1: noise, 2: c.Edits[0].Values}.Write(f, "gpt2")
			if err == nil {
				err = f.Close()
			}
			if err != nil {
				t.Fatal(err)
			}
			flags[c.Name] = editFlags{Steer: []string{path + ":2@2", path + ":-1@2-3"}}
		}
	}
	for _, c := range answers.Cases {
		e, ok := flags[c.Name]
		if !ok {
			continue
		}
		delete(flags, c.Name)
		a := newApp()
		a.Edits = e
		m, err := a.openModel()
		if err != nil {
			t.Fatal(err)
		}
		s := m.NewSession()
		if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: answers.IDs[0]}); err != nil {
			t.Fatal(err)
		}
		largest := 0.0
		for _, x := range s.Logits() {
			largest = max(largest, math.Abs(float64(x)))
		}
		for i, id := range c.Top {
			if d := math.Abs(float64(s.Logits()[id]) - c.Logits[i]); !(d <= 1e-4*largest) {
				t.Errorf("%s: id %d: %v, want %v", c.Name, id, s.Logits()[id], c.Logits[i])
			}
		}
		m.Close()
		a.close()
	}
	if len(flags) != 0 {
		t.Errorf("no answers for %v", flags)
	}
}
