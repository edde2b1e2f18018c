package work

// The second phase of a filter: rows and a ledger side by side.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"picogpt/eval"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/ledger"
	"picogpt/x/corpus/internal/storage"
)

// scoredRows are four rows: of the third nothing could be scored, and the second was set aside.
const scoredRows = `{"id":"a","text":"x","p":1}
{"id":"b","text":5}
{"id":"c","text":""}

{"id":"d","text":"y"}
`

// scoredPiece is a piece of those rows with its ledger.
func scoredPiece(t *testing.T, entries ...ledger.Entry) (*job.Job, *Selection, string) {
	t.Helper()
	dir := t.TempDir()
	name := filepath.Join(dir, "a.jsonl")
	if err := os.WriteFile(name, []byte(scoredRows), 0o666); err != nil {
		t.Fatal(err)
	}
	j := &job.Job{Command: job.Filter, Output: dir, Work: storage.Join(dir, ".work"),
		Input: input.Options{Patterns: []string{name}}, Filter: job.FilterOptions{ScoreField: "p"}}
	sources, err := input.Match(t.Context(), j.Input)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := input.Cut(t.Context(), sources[0], 0)
	if err != nil {
		t.Fatal(err)
	}
	s := &Selection{Piece: job.Piece{Of: 1, Parts: parts}, Errors: 1}
	w, err := ledger.Create(t.Context(), j.Ledger(&s.Piece))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if err := w.Write(&e); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	seen := sha256.New()
	for range items(t.Context(), j, &s.Piece, seen) {
	}
	m := mark{Input: hex.EncodeToString(seen.Sum(nil))}
	if err := remember(t.Context(), j.Done(&s.Piece), m); err != nil {
		t.Fatal(err)
	}
	return j, s, name
}

// entry is that of a row, by its line and id.
func entry(line int, id string, count int, sum float64) ledger.Entry {
	canonical, _ := eval.CanonicalID(json.RawMessage(id))
	return ledger.Entry{Line: line, ID: canonical, Count: count, Sum: sum}
}

func entries() []ledger.Entry {
	return []ledger.Entry{entry(1, `"a"`, 2, 0), entry(3, `"c"`, 0, 0),
		entry(5, `"d"`, 1, math.Inf(-1))}
}

func TestSelect(t *testing.T) {
	j, s, _ := scoredPiece(t, entries()...)
	kept := func(want Kept, wantLines string) {
		t.Helper()
		got, err := newProcess().Select(t.Context(), j, s)
		if err != nil {
			t.Fatal(err)
		}
		got.Piece = job.Piece{}
		b, err := os.ReadFile(j.Kept(&s.Piece))
		if err != nil || !reflect.DeepEqual(*got, want) || string(b) != wantLines {
			t.Errorf("%+v, %s%v; want %+v, %s", got, b, err, want, wantLines)
		}
	}
	const a, d = `{"id":"a","text":"x","p":1}` + "\n", `{"id":"d","text":"y","p":null}` + "\n"
	kept(Kept{Kept: 2, Unranked: 1, Errors: 1, Replaced: 1}, a+d)

	// What is written stays, and the mark tells that it is there.
	if err := os.WriteFile(j.Kept(&s.Piece), []byte("as it was\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	kept(Kept{Kept: 2, Unranked: 1, Errors: 1, Replaced: 1, Resumed: true}, "as it was\n")

	// Other cuts and other records are other work.
	s.Cuts.To = ledger.PerplexityKey(2)
	kept(Kept{Kept: 1, Dropped: 1, Unranked: 1, Errors: 1, Replaced: 1}, a)
	s.Cuts.From, s.Cuts.To = s.Cuts.To, nil
	kept(Kept{Kept: 1, Dropped: 1, Unranked: 1, Errors: 1}, d)
	s.Corpus = "other"
	kept(Kept{Kept: 1, Dropped: 1, Unranked: 1, Errors: 1}, d)
	if err := os.WriteFile(j.Selected(&s.Piece), []byte(`{"Key":"`), 0o666); err != nil {
		t.Fatal(err)
	}
	kept(Kept{Kept: 1, Dropped: 1, Unranked: 1, Errors: 1}, d)
}

// TestAnInputThatChangesBetweenThePhases is an error, and no file.
func TestAnInputThatChangesBetweenThePhases(t *testing.T) {
	for name, c := range map[string]struct {
		entries []ledger.Entry
		change  func(string) string
		want    string
	}{
		"an id": {entries(), func(s string) string { return strings.Replace(s, `"d"`, `"e"`, 1) },
			"line 5: the input has changed since it was scored"},
		"a row that is broken now": {entries(),
			func(s string) string { return strings.Replace(s, `{"id":"d"`, `["id":"d"`, 1) }, "line 5: "},
		"a text": {entries(), func(s string) string { return strings.Replace(s, `"y"`, `"z"`, 1) },
			"the input has changed since it was scored"},
		"more bytes": {entries(),
			func(s string) string { return strings.Replace(s, "\n\n", "\n \n", 1) },
			"the input has changed since it was scored"},
		"more in the ledger": {append(entries(), entry(6, `"e"`, 1, -1)), nil,
			"the input has changed since it was scored"},
		"another order": {[]ledger.Entry{entries()[2], entries()[0]}, nil,
			"the input has changed since it was scored"},
	} {
		j, s, input := scoredPiece(t, c.entries...)
		if c.change != nil {
			if err := os.WriteFile(input, []byte(c.change(scoredRows)), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		_, err := newProcess().Select(t.Context(), j, s)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
		if left, _ := filepath.Glob(filepath.Join(j.Output, "*kept*")); len(left) > 0 {
			t.Errorf("%s: %s are left", name, left)
		}
	}
}
