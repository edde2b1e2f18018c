package sample

import (
	"encoding/json"
	"math"
	"testing"
)

func TestMirostatIsLlamaCpps(t *testing.T) {
	all, vectors := answers(t, "llama", 152)
	checked := 0
	for _, a := range all {
		version := map[string]int{"mirostat1": 1, "mirostat2": 2}[a.P]
		if version == 0 {
			continue
		}
		checked++
		var p struct{ Mu, Tau, Eta float64 }
		if err := json.Unmarshal(a.A, &p); err != nil {
			t.Fatal(err)
		}
		logits := vectors[a.V]
		// The filters are set and have no effect.
		s := sampler(t, Params{Temperature: 1, TopK: 1, MinP: 1, XTCProbability: 1,
			Mirostat: Mirostat{version, p.Tau, p.Eta}})
		if s.State.mu != 2*p.Tau {
			t.Errorf("%v: mu begins at %v, want %v", &a, s.State.mu, 2*p.Tau)
		}
		s.State.mu = p.Mu
		d, err := s.Distribution(logits, nil)
		if err != nil {
			t.Fatal(err)
		}
		if want := max(a.K, len(a.Kept)); a.K != 0 && len(d.Chances) != min(want, len(logits)) {
			t.Errorf("%v: %d ids left, want %d", &a, len(d.Chances), want)
		}
		if a.Kept != nil {
			a.New = 0
			var kept []int
			for _, c := range d.Chances {
				kept = append(kept, c.ID)
			}
			if len(kept) != len(a.Kept) {
				t.Errorf("%v: kept %v, want %v", &a, kept, a.Kept)
			}
		}
		for _, c := range d.Chances {
			if c.ID != a.Chosen {
				continue
			}
			if got := -math.Log2(c.Prob); math.Abs(got-a.Surprise) > 1e-7 {
				t.Errorf("%v: surprise %v, want %v", &a, got, a.Surprise)
			}
		}
		// The draw moves mu by the token it took.
		for range 20 {
			s.State.mu = p.Mu
			id := next(t, s, logits, nil)
			prob := 0.0
			for _, c := range d.Chances {
				if c.ID == id {
					prob = c.Prob
				}
			}
			want := p.Mu - p.Eta*(-math.Log2(prob)-p.Tau)
			if math.Abs(s.State.mu-want) > 1e-9 {
				t.Errorf("%v: mu is %v after %d, want %v", &a, s.State.mu, id, want)
			}
			if id == a.Chosen && math.Abs(s.State.mu-a.MuNext) > 1e-7 {
				t.Errorf("%v: mu is %v, want %v", &a, s.State.mu, a.MuNext)
			}
		}
	}
	if checked < 20 {
		t.Errorf("%d answers about Mirostat, want more", checked)
	}
}

// TestMirostatKeepsTheSurpriseNearItsTarget draws many tokens from rows of all kinds.
func TestMirostatKeepsTheSurpriseNearItsTarget(t *testing.T) {
	rows, _ := gpt2Rows()
	for _, version := range []int{1, 2} {
		s := sampler(t, Params{Temperature: 1, Mirostat: Mirostat{version, 4, 0.1}})
		sum, n := 0.0, 0
		for i := range 120 {
			before := s.State.mu
			next(t, s, rows["normal"], nil)
			if i >= 60 {
				sum, n = sum+(before-s.State.mu)/0.1+4, n+1
			}
		}
		if mean := sum / float64(n); math.Abs(mean-4) > 1 {
			t.Errorf("version %d: a mean surprise of %v, want about 4", version, mean)
		}
	}
}
