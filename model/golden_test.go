package model_test

import (
	"context"
	"encoding/json"
	"math"
	"os"
	"testing"

	"picogpt/model"
	"picogpt/weights"
	"picogpt/weights/demo"
)

func demoModel(t testing.TB, o model.Options) *model.Model {
	t.Helper()
	c, err := model.ParseConfig(demo.Config())
	if err != nil {
		t.Fatal(err)
	}
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New(c, f, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestGreedyTranscripts(t *testing.T) {
	b, err := os.ReadFile("../internal/fixture/testdata/tinystories.json")
	if err != nil {
		t.Fatal(err)
	}
	var g struct {
		Greedy []struct {
			Prompt    string
			PromptIDs []int `json:"prompt_ids"`
			IDs       []int
		}
	}
	if err := json.Unmarshal(b, &g); err != nil {
		t.Fatal(err)
	}
	m := demoModel(t, model.Options{})
	for _, g := range g.Greedy {
		s := m.NewSession()
		ids := g.PromptIDs
		for i, want := range g.IDs {
			if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids}); err != nil {
				t.Fatal(err)
			}
			best, at := math.Inf(-1), 0
			for j, v := range s.Logits() {
				if float64(v) > best {
					best, at = float64(v), j
				}
			}
			if at != want {
				t.Fatalf("%q: token %d is %d, want %d", g.Prompt, i, at, want)
			}
			ids = []int{at}
		}
	}
}
