package finish

// The end of a run: its files, and what is sorted on the way.

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/work"
)

// TestThePageShowsWhatOthersWrote as text: patterns, fields, ids within reasons.
func TestThePageShowsWhatOthersWrote(t *testing.T) {
	const attack = `"'><script>alert(1)</script></style><img src=x onerror=alert(1)>{{.}}`
	documents := []document{{halves: 2, tokens: 1, id: `"<script>"`, line: 1},
		{halves: 5, tokens: 3, line: 2}, {halves: 4, line: 3}}
	j, all := write(t, job.Filter, [][]document{documents})
	j.Input.Patterns = []string{attack}
	j.Fields.Text, j.Model.Path = attack, "/"+attack
	j.Filter = job.FilterOptions{Keep: "0..1/2", ScoreField: attack}
	all[0].Errors, all[0].Reasons = 2, []work.Reason{{Text: "id: " + attack, Count: 2}}
	all[0].Model.Name = attack
	c := add(t, j, all)
	err := c.WriteKept(t.Context(), j, []work.Kept{{Piece: all[0].Piece, Kept: 1, Dropped: 1,
		Unranked: 1, Errors: 2}})
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(j.Report())
	if err != nil {
		t.Fatal(err)
	}
	for _, element := range []string{"<script", "<img", "</style></"} {
		if strings.Contains(string(page), element) {
			t.Errorf("the page has %s", element)
		}
	}
	for _, said := range []string{"quantile 1/2", "alert(1)", "Without a perplexity", "Set aside", "median"} {
		if !strings.Contains(string(page), said) {
			t.Errorf("the page does not say %s", said)
		}
	}
	if left, err := os.ReadDir(j.Work); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("%v is left, %v", left, err)
	}
}

// TestPhasesHaveToAgree: what was written has to be what was to be kept.
func TestPhasesHaveToAgree(t *testing.T) {
	documents := []document{{halves: 2, tokens: 1, line: 1}, {halves: 5, tokens: 3, line: 2}}
	for _, kept := range [][]work.Kept{
		nil, {{Piece: job.Piece{Index: 1, Of: 2}}}, {{Piece: job.Piece{Of: 1}, Kept: 2}},
		{{Piece: job.Piece{Of: 1}, Kept: 1}}, {{Piece: job.Piece{Of: 1}, Kept: 1, Dropped: 1, Unranked: 1}},
	} {
		j, all := write(t, job.Filter, [][]document{documents})
		j.Filter.Keep = "0..0.5"
		if err := add(t, j, all).WriteKept(t.Context(), j, kept); err == nil {
			t.Errorf("%+v: no error", kept)
		}
		if _, err := os.Stat(j.Manifest()); err == nil {
			t.Errorf("%+v: a manifest", kept)
		}
	}
}

// TestSumsHaveTheOrderOfAField, whatever the places of the documents are.
func TestSumsHaveTheOrderOfAField(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	sums := make([]float64, 1000) // by the number that is ordered by
	for i := range sums {
		sums[i] = -math.Exp(20 * r.Float64())
	}
	want, other := 0.0, 0.0
	for i := range sums {
		want += sums[i]
		other += sums[len(sums)-1-i]
	}
	if want == other {
		t.Fatal("the order of the sums does not matter")
	}
	j, all := write(t, job.Score, [][]document{nil})
	j.Fields.Order = "n"
	w, err := ledger.Create(t.Context(), j.Ledger(&all[0].Piece))
	if err != nil {
		t.Fatal(err)
	}
	for line, i := range r.Perm(len(sums)) {
		order, err := ledger.Sortable([]byte(fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Write(&ledger.Entry{Line: line, Order: order, Count: 1, Sum: sums[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := add(t, j, all).Manifest.Sum; got != want {
		t.Errorf("the sum is %v, want %v", got, want)
	}
}

// TestSortingOnDisk: more than one chunk, keys and values that begin alike.
func TestSortingOnDisk(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := newSorter(t.Context())
	defer s.close()
	var want []string
	for range chunk*2 + 100 {
		key, value := fmt.Sprint(r.IntN(1<<17)), fmt.Sprint(r.IntN(3))
		want = append(want, key+"\x00"+value)
		s.add([]byte(key), []byte(value))
	}
	slices.Sort(want)
	i := 0
	for p, err := range s.all() {
		if err != nil {
			t.Fatal(err)
		}
		if got := string(p.key) + "\x00" + string(p.value); got != want[i] {
			t.Fatalf("pair %d is %q, want %q", i, got, want[i])
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d pairs came back, want %d", i, len(want))
	}
}

// TestSortingThatFails tells why, and nobody waits for it: neither who adds nor who wants all.
func TestSortingThatFails(t *testing.T) {
	s := newSorter(t.Context())
	s.close()
	for range 10_000 { // more than the channel holds
		s.add([]byte("key"), nil)
	}
	var last error
	for _, err := range s.all() {
		last = err
	}
	if last == nil || !strings.Contains(last.Error(), "sorting: context canceled") {
		t.Errorf("%v, want the context's error", last)
	}
}

// TestALedgerThatIsCutOff is an error with its name.
func TestALedgerThatIsCutOff(t *testing.T) {
	j, all := write(t, job.Score, [][]document{{{halves: 1, tokens: 1}, {halves: 2, tokens: 1}}})
	name := j.Ledger(&all[0].Piece)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, b[:len(b)-3], 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := Add(t.Context(), j, all); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("%v, want an error that names %s", err, name)
	}
}
