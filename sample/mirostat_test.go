package sample

// Mirostat and adaptive-p against recorded answers of llama.cpp's definitions.

import (
	"encoding/json"
	"math"
	"reflect"
	"slices"
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

func TestAdaptive(t *testing.T) {
	logits := []float32{2, 1, 0.5, 0, -1, -3}
	for _, c := range []struct {
		a     Adaptive
		drawn []int       // after each of the distributions
		want  [][]float64 // of ids
	}{
		{Adaptive{0.4, 0.9}, []int{0, 5, 1, 2}, [][]float64{
			{0.612628048394502, 0.31658856241217037, 0.049879195999017224, 0.014584159895394987,
				0.0041524060439247085, 0.002167627254990738},
			{0.4497203008307129, 0.4444311949501003, 0.07394041150644638, 0.022123921532536475,
				0.0064117596883836924, 0.0033724114918202057},
			{0.8145580427705139, 0.1539208254799315, 0.02247991942481763, 0.006362497701831295,
				0.0017664748380788887, 0.0009122397848265298},
			{0.8959661282545662, 0.0871061409030744, 0.012158032728011506, 0.0033739864587185283,
				0.0009224696408688034, 0.00047324201476063723},
		}},
		// the goal is bounded by 0, and only the last token counts
		{Adaptive{0.1, 0}, []int{0, 0, 5, 1}, [][]float64{
			{2.7037850591757895e-05, 0.11764434757153963, 0.2787944589858438, 0.2802370289652544,
				0.18678203006348235, 0.1365150965632882},
			{1.782523345532248e-06, 0.021085304664606227, 0.10184344877697712, 0.20862181563827306,
				0.3212456370963676, 0.34720201130043044},
			{1.782523345532248e-06, 0.021085304664606227, 0.10184344877697712, 0.20862181563827306,
				0.3212456370963676, 0.34720201130043044},
			{0.0005883180589947629, 0.4584079940383505, 0.29443493341428467, 0.14705587661761538,
				0.06172612634123306, 0.037786751529521566},
		}},
	} {
		s := sampler(t, Params{Temperature: 1, Adaptive: c.a})
		for i, want := range c.want {
			d, err := s.Distribution(logits, nil)
			if err != nil || len(d.Chances) != len(want) {
				t.Fatalf("%v: %v, %v", c.a, d, err)
			}
			for _, one := range d.Chances {
				if math.Abs(one.Prob-want[one.ID]) > 1e-12 {
					t.Errorf("%v: token %d: id %d has the probability %v, want %v", c.a, i, one.ID,
						one.Prob, want[one.ID])
				}
			}
			adaptiveStep.drew(s, c.drawn[i]) // nothing is filtered: each place is its id
		}
	}
}

// draws returns the tokens that a sampler draws repeatedly from the same logits.
func draws(t *testing.T, p Params, n int) (ids []int) {
	t.Helper()
	s := sampler(t, p)
	for range n {
		id, err := s.Next([]float32{3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -9}, nil)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	return ids
}

func TestWhereAdaptiveIsOff(t *testing.T) {
	plain := Params{Temperature: 1, MinP: 0.05, Seed: 7}
	with := func(change func(*Params)) (same bool) {
		p, q := plain, plain
		change(&p)
		change(&q)
		p.Adaptive = Adaptive{0.2, 0.9}
		return slices.Equal(draws(t, p, 50), draws(t, q, 50))
	}
	if with(func(*Params) {}) {
		t.Error("a target changes no token")
	}
	if !with(func(p *Params) { p.Temperature = 0 }) {
		t.Error("a target changes the likeliest token")
	}
	if !with(func(p *Params) { p.Mirostat = Mirostat{2, 3, 0.1} }) {
		t.Error("a target counts beside Mirostat")
	}
	off := plain
	off.Adaptive.Decay = 0.9
	if !slices.Equal(draws(t, off, 50), draws(t, plain, 50)) {
		t.Error("a decay without a target changes tokens")
	}
}

// TestAdaptiveReachesItsTarget: the mean probability of the drawn tokens is the target.
func TestAdaptiveReachesItsTarget(t *testing.T) {
	s := sampler(t, Params{Temperature: 1, MinP: 0.02})
	d, err := s.Distribution([]float32{3, 2.5, 2, 1.5, 1, 0.5, 0, -0.5, -1, -9}, nil)
	if err != nil {
		t.Fatal(err)
	}
	probs := map[int]float64{}
	for _, c := range d.Chances {
		probs[c.ID] = c.Prob
	}
	for _, target := range []float64{0.1, 0.2, 0.3} {
		mean, n := 0.0, 4000
		for _, id := range draws(t, Params{Temperature: 1, MinP: 0.02, Seed: 3,
			Adaptive: Adaptive{target, 0.9}}, n) {
			mean += probs[id] / float64(n)
		}
		if math.Abs(mean-target) > 0.03 {
			t.Errorf("the mean probability is %.3f, want %v", mean, target)
		}
	}
}

// TestAdaptiveGoesBack: a State has everything that later tokens depend on.
func TestAdaptiveGoesBack(t *testing.T) {
	s := sampler(t, Params{Temperature: 1, MinP: 0.05, Adaptive: Adaptive{0.2, 0.9}})
	logits := []float32{3, 2.5, 2, 1.5, 1, 0.5}
	run := func() (ids []int) {
		for range 20 {
			id, err := s.Next(logits, nil)
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
		return ids
	}
	run()
	before := s.State
	first := run()
	s.State = before
	if again := run(); !reflect.DeepEqual(again, first) {
		t.Errorf("%v, and again %v", first, again)
	}
}
