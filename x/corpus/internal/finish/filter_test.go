package finish

// What a filter keeps, against an oracle that has all documents in memory.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/kernels"
	"picogpt/x/corpus/internal/job"
)

// TestRanksAreExact, with many ties, ids that are there twice, and documents without one.
func TestRanksAreExact(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for round := range 12 {
		n, values := 1+r.IntN(400), []int{1, 3, 50}[round%3]
		all := corpus(r, n, values)
		for _, pieces := range []int{1, 3, 7} {
			dealt := share(r, all, pieces)
			placed := slices.Concat(dealt...)
			j, summaries := write(t, job.Filter, dealt)
			for range 8 {
				low := r.IntN(1000)
				high := low + 1 + r.IntN(1000-low)
				j.Filter.Keep = fmt.Sprintf("%.3f..%.3f", float64(low)/1000, float64(high)/1000)
				c := add(t, j, summaries)
				got, want := c.kept(t, placed), keep(placed, low, high)
				if !same(got, want, place) {
					t.Errorf("%d documents in %d pieces, %s: %d are kept, want %d others", n, pieces,
						j.Filter.Keep, len(got), len(want))
				}
				if f := c.Manifest.Filtered; f.Kept != len(want) ||
					f.Kept+f.Dropped != len(ranked(all)) || f.Unranked != n-len(ranked(all)) {
					t.Errorf("%s: %+v, want %d kept of %d", j.Filter.Keep, f, len(want), n)
				}
			}
		}
	}
}

// TestWhatIsKeptDoesNotDependOnFiles: for any distribution of documents over files, the kept ones
// have the same ids and perplexities.
func TestWhatIsKeptDoesNotDependOnFiles(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	all := corpus(r, 300, 4)
	var first []document
	for _, pieces := range []int{1, 2, 5, 100} {
		for range 3 {
			dealt := share(r, all, pieces)
			j, summaries := write(t, job.Filter, dealt)
			j.Filter.Keep = "0.2..0.55"
			got := add(t, j, summaries).kept(t, slices.Concat(dealt...))
			if first == nil {
				first = got
			}
			if len(got) == 0 || !same(got, first, identity) {
				t.Errorf("%d pieces: others are kept than in one", pieces)
			}
		}
	}
}

// TestSharesPartition: each document is in one of the parts.
func TestSharesPartition(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, cuts := range [][]string{{"0", "0.1", "0.7", "1"}, {"0", "1/3", "2/3", "1"},
		{"0%", "33.3%", "1/2", "0.5000000000000000001", "100%"}, {"0.0", "1.0"}} {
		for _, n := range []int{1, 2, 3, 10, 99, 300} {
			dealt := share(r, corpus(r, n, 5), 1)
			j, summaries := write(t, job.Filter, dealt)
			var parts []document
			for i := range len(cuts) - 1 {
				j.Filter.Keep = cuts[i] + ".." + cuts[i+1]
				parts = append(parts, add(t, j, summaries).kept(t, dealt[0])...)
			}
			if !same(parts, ranked(dealt[0]), place) {
				t.Errorf("%d documents, %s: %d in the parts", n, cuts, len(parts))
			}
		}
	}
}

// TestAFloatIsNotEnough: 0.1·30 is not 3 in binary, and 0.7·10 is less than 7.
func TestAFloatIsNotEnough(t *testing.T) {
	for _, c := range []struct {
		keep        string
		n           int
		after, last int
	}{
		{"0.1..0.7", 10, 1, 7}, {"0.1..0.7", 30, 3, 21}, {"0.1..0.7", 1, 1, 1},
		{"0.07..0.29", 100, 7, 29}, {"0.57..0.58", 100, 57, 58}, {"0..1", 1 << 60, 0, 1 << 60},
		{"0.1..0.7", 0, 0, 0}, {"1/3..2/3", 10, 4, 7}, {"10%..33.4%", 1000, 100, 334},
		{"0.10000000000000000001..1", 1000, 101, 1000},
	} {
		ranks, err := job.ParseRanks(c.keep)
		if err != nil {
			t.Fatal(err)
		}
		if after, last := ranks.Of(c.n); after != c.after || last != c.last {
			t.Errorf("%s of %d: after %d, up to %d; want %d and %d", c.keep, c.n, after, last,
				c.after, c.last)
		}
	}
}

func TestPerplexitiesAsCuts(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	dealt := share(r, corpus(r, 500, 9), 3)
	placed := slices.Concat(dealt...)
	j, summaries := write(t, job.Filter, dealt)
	for halves := 1; halves <= 9; halves++ {
		x := kernels.Exp64(float64(halves) / 2) // that of some documents
		kept := func(keep func(document) bool) (want []document) {
			for _, d := range placed {
				if d.tokens > 0 && keep(d) {
					want = append(want, d)
				}
			}
			return want
		}
		for _, c := range []struct {
			filter job.FilterOptions
			want   []document
		}{
			{job.FilterOptions{Below: x}, kept(func(d document) bool { return d.halves < halves })},
			{job.FilterOptions{Above: x}, kept(func(d document) bool { return d.halves >= halves })},
			{job.FilterOptions{Above: math.Nextafter(x, 1e9)},
				kept(func(d document) bool { return d.halves > halves })},
			{job.FilterOptions{Above: x, Below: x * math.E},
				kept(func(d document) bool { return d.halves >= halves && d.halves < halves+2 })},
			{job.FilterOptions{Above: x, Keep: "0.3..0.8"}, slices.DeleteFunc(keep(placed, 300, 800),
				func(d document) bool { return d.halves < halves })},
			{job.FilterOptions{Below: x, Keep: "0.3..0.8"}, slices.DeleteFunc(keep(placed, 300, 800),
				func(d document) bool { return d.halves >= halves })},
		} {
			j.Filter = c.filter
			got := add(t, j, summaries)
			if !same(got.kept(t, placed), c.want, place) || got.Manifest.Kept != len(c.want) {
				t.Errorf("%+v: %d are kept, want %d", c.filter, got.Manifest.Kept, len(c.want))
			}
		}
	}
}

// TestQuantilesAreNearestRanks: the smallest perplexity that so many do not exceed.
func TestQuantilesAreNearestRanks(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, n := range []int{1, 2, 7, 100, 101, 400} {
		dealt := share(r, corpus(r, n, 30), 2)
		all := slices.Concat(dealt...)
		all = append(all, document{halves: 4, tokens: 2, source: 9, line: 1}) // one has a perplexity
		j, summaries := write(t, job.Score, [][]document{all})
		got := add(t, j, summaries)
		with := ranked(all)
		if len(got.Manifest.Quantiles) != 11 || got.Manifest.Filtered != nil {
			t.Fatalf("%+v", got.Manifest)
		}
		for _, q := range got.Manifest.Quantiles {
			want := -1
			for halves := 30; halves > 0; halves-- {
				below := 0
				for _, d := range with {
					if d.halves <= halves {
						below++
					}
				}
				if below*100 >= q.Percent*len(with) && below > 0 {
					want = halves
				}
			}
			if x := math.Log(*q.Perplexity) * 2; math.Abs(x-float64(want)) > 1e-9 {
				t.Errorf("%d documents, %d %%: e^(%v/2), want e^(%d/2)", n, q.Percent, x, want)
			}
		}
		if got.Histogram.Documents() != int64(len(with)) ||
			got.Histogram.None != int64(len(all)-len(with)) {
			t.Errorf("the histogram has %d documents", got.Histogram.Documents())
		}
	}
}

func TestDuplicatesAreCounted(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	all := corpus(r, 500, 3)
	ids, want := map[string]bool{}, 0
	for _, d := range all {
		if d.id != "" && ids[d.id] {
			want++
		}
		ids[d.id] = true
	}
	j, summaries := write(t, job.Score, share(r, all, 3))
	if got := add(t, j, summaries).Manifest.Duplicates; got != want || want < 50 {
		t.Errorf("%d duplicates, want %d", got, want)
	}
}

// TestCorporaAtTheEdge: none, none with a perplexity, all with the same.
func TestCorporaAtTheEdge(t *testing.T) {
	var unranked, equal []document
	for i := range 10 {
		unranked = append(unranked, document{halves: 2, line: i + 1})
		equal = append(equal, document{halves: 2, tokens: 1, line: i + 1, id: fmt.Sprint(10 - i)})
	}
	for name, c := range map[string]struct {
		documents               []document
		kept, dropped, unranked int
		cuts                    int
	}{
		"empty": {nil, 0, 0, 0, 0}, "unranked": {unranked, 0, 0, 10, 0}, "equal": {equal, 6, 4, 0, 2},
	} {
		j, summaries := write(t, job.Filter, [][]document{c.documents})
		j.Filter.Keep = "0.1..0.7"
		got := add(t, j, summaries)
		f := got.Manifest.Filtered
		if f.Kept != c.kept || f.Dropped != c.dropped || f.Unranked != c.unranked ||
			len(f.Cuts) != c.cuts {
			t.Errorf("%s: %+v", name, f)
		}
		if kept := got.kept(t, c.documents); len(kept) != c.kept {
			t.Errorf("%s: %d are kept", name, len(kept))
		}
		for _, cut := range f.Cuts {
			if math.Abs(*cut.Perplexity-math.E) > 1e-12 {
				t.Errorf("%s: %+v, want a cut at e", name, cut)
			}
		}
		back, err := got.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if again, err := Decode(back); err != nil || again.Manifest.Kept != c.kept ||
			string(again.Keep.To) != string(got.Keep.To) {
			t.Errorf("%s: on its way %+v became %+v, %v", name, got, again, err)
		}
	}
	// Of ten with one perplexity the ids decide: ranks 2 to 7 are ids 2 to 7.
	j, summaries := write(t, job.Filter, [][]document{equal})
	j.Filter.Keep = "0.1..0.7"
	for _, d := range add(t, j, summaries).kept(t, equal) {
		if !strings.Contains("234567", d.id) {
			t.Errorf("id %s is kept", d.id)
		}
	}
}
