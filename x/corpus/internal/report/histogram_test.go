package report

import (
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// exactBin is the bin of p by integers: the greatest i with 10^i ≤ p^32.
func exactBin(p float64) int {
	power, _ := new(big.Float).SetPrec(4000).SetFloat64(p).Rat(nil)
	power = new(big.Rat).SetFrac(new(big.Int).Exp(power.Num(), big.NewInt(32), nil),
		new(big.Int).Exp(power.Denom(), big.NewInt(32), nil))
	ten := new(big.Int).Quo(power.Num(), power.Denom()) // its digits are what counts
	return len(ten.String()) - 1
}

func TestDocumentsAreCountedInTheirBins(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var h Histogram
	var want [bins]int64
	for range 3000 {
		p := math.Pow(10, 12*r.Float64())
		h.Add(p)
		want[exactBin(p)]++
	}
	if h.Counts != want || h.Documents() != 3000 || h.Below+h.Above+h.None != 0 {
		t.Errorf("%+v, want counts %v", h, want)
	}
}

// A power of ten begins a bin, and the number before it ends one.
func TestEdges(t *testing.T) {
	for k, p := 0, 1.0; k <= 12; k, p = k+1, p*10 {
		if e := edge(32 * k); e != p {
			t.Errorf("edge %d is %v, want %v", 32*k, e, p)
		}
		var h Histogram
		h.Add(p)
		h.Add(math.Nextafter(p, 0))
		at := func(bin int) int64 {
			switch {
			case bin < 0:
				return h.Below
			case bin >= bins:
				return h.Above
			}
			return h.Counts[bin]
		}
		if at(32*k) != 1 || at(32*k-1) != 1 {
			t.Errorf("%v and the number before it: %+v", p, h)
		}
	}
	for i := range bins {
		want := math.Exp(math.Ln10 * float64(i) / 32)
		if e := edge(i); math.Abs(e-want) > 1e-13*want {
			t.Errorf("edge %d is %v, want %v", i, e, want)
		}
		if got := bin(edge(i)); got != i {
			t.Errorf("edge %d is in bin %d", i, got)
		}
	}
}

func TestPerplexitiesOutsideOfTheBins(t *testing.T) {
	var h Histogram
	for _, p := range []float64{math.NaN(), 0, -1, math.Inf(-1), 0.999, math.Inf(1), 1e12, 1e300} {
		h.Add(p)
	}
	if want := (Histogram{Below: 4, Above: 3, None: 1}); h != want {
		t.Errorf("%+v, want %+v", h, want)
	}
}

// Pieces in any number, in any order, by way of JSON: the histogram is that of all documents.
func TestMergeKnowsNoOrder(t *testing.T) {
	documents := append(logNormal(5000), math.NaN(), 0.5, math.Inf(1))
	var whole Histogram
	for _, p := range documents {
		whole.Add(p)
	}
	r := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{1, 2, 7, 100} {
		pieces := make([]Histogram, n)
		r.Shuffle(len(documents), func(i, j int) {
			documents[i], documents[j] = documents[j], documents[i]
		})
		for i, p := range documents {
			pieces[i*i%n].Add(p)
		}
		var merged Histogram
		for _, i := range r.Perm(n) {
			raw, err := json.Marshal(&pieces[i])
			if err != nil {
				t.Fatal(err)
			}
			var piece Histogram
			if err := json.Unmarshal(raw, &piece); err != nil {
				t.Fatal(err)
			}
			merged.Merge(&piece)
		}
		if merged != whole {
			t.Errorf("%d pieces: %+v, want %+v", n, merged, whole)
		}
	}
}
