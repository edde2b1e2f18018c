// Package finish puts together what the pieces came to: sums in the order of the documents, the
// digest, the manifest and the report. It streams the ledgers, so that memory does not grow with
// the corpus; what must be sorted is sorted on disk.
package finish

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"iter"
	"slices"

	"picogpt/corpus/internal/job"
	"picogpt/corpus/internal/ledger"
	"picogpt/corpus/internal/storage"
	"picogpt/corpus/internal/work"
	"picogpt/eval"
)

// A Manifest is what a run came to. It is written last: where it is, the run is whole.
type Manifest struct {
	Command string      `json:"command"`
	Records int         `json:"records"` // that were scored
	Errors  int         `json:"errors"`  // that were set aside
	Tokens  int         `json:"tokens"`  // that have a log-probability
	Digest  eval.Digest `json:"digest"`  // of the records, as gpt score --summary has it

	Sum        float64  `json:"sum_logprob"` // in the order of the documents
	Perplexity *float64 `json:"perplexity"`  // of all tokens

	Result *eval.Result `json:"result,omitempty"` // of perplexity, nil where nothing was measured

	Duplicates int `json:"duplicate_ids"` // records whose id another one before them has
	Pieces     int `json:"pieces"`

	Reasons []work.Reason `json:"reasons,omitempty"` // of the errors

	Model   work.Identity `json:"model"`
	Options job.Options   `json:"options"`
}

// Write writes the manifest, and removes what was needed until then.
func Write(ctx context.Context, j *job.Job, all []work.Summary) error {
	m, err := manifest(ctx, j, all)
	if err != nil {
		return err
	}
	b, err := json.MarshalIndent(m, "", "  ")
	if err == nil {
		err = storage.WriteFile(ctx, j.Manifest(), append(b, '\n'))
	}
	return cmp.Or(err, clean(ctx, j, all))
}

// manifest puts the summaries together.
func manifest(ctx context.Context, j *job.Job, all []work.Summary) (*Manifest, error) {
	if err := check(all); err != nil {
		return nil, err
	}
	m := &Manifest{Command: j.Command, Pieces: len(all), Model: all[0].Model,
		Options: j.Described()}
	reasons := map[string]int{}
	for i := range all {
		s := &all[i]
		m.Records += s.Records
		m.Errors += s.Errors
		m.Tokens += s.Tokens
		var d eval.Digest
		if err := d.UnmarshalText([]byte(s.Digest)); err != nil {
			return nil, err
		}
		m.Digest.Merge(d)
		for _, r := range s.Reasons {
			reasons[r.Text] += r.Count
		}
	}
	m.Reasons = work.Top(reasons)
	return m, m.add(ctx, j, all)
}

// check errs unless each piece is there once, all of one model.
func check(all []work.Summary) error {
	for i, s := range all {
		if s.Piece.Index != i || s.Piece.Of != len(all) {
			return fmt.Errorf("piece %d of %d is missing", i+1, all[0].Piece.Of)
		}
		if s.Model != all[0].Model {
			return fmt.Errorf("workers have different models: weights %.12s… and %.12s…",
				s.Model.Weights, all[0].Model.Weights)
		}
	}
	return nil
}

// ledgers are the names of the pieces' ledgers.
func ledgers(j *job.Job, all []work.Summary) (names []string) {
	for i := range all {
		names = append(names, j.Ledger(&all[i].Piece))
	}
	return names
}

// add adds up what is in the ledgers.
func (m *Manifest) add(ctx context.Context, j *job.Job, all []work.Summary) error {
	total := eval.Summary{Tokens: m.Tokens}
	measured, err := newMeasurement(ctx, j)
	if err != nil {
		return err
	}
	for e, err := range inOrder(ctx, j, all) {
		if err != nil {
			return err
		}
		total.Sum += e.Sum
		measured.add(e)
	}
	if m.Result, err = measured.result(m); err != nil {
		return err
	}
	m.Sum = total.Sum
	if m.Tokens > 0 {
		p := total.Perplexity()
		m.Perplexity = &p
	}
	m.Duplicates, err = duplicates(ctx, ledger.Read(ctx, ledgers(j, all)...))
	return err
}

// inOrder yields all entries in the order of --order-field, or of their places.
func inOrder(
	ctx context.Context, j *job.Job, all []work.Summary,
) iter.Seq2[*ledger.Entry, error] {
	entries := ledger.Read(ctx, ledgers(j, all)...)
	if j.Fields.Order == "" {
		return entries
	}
	pairs := func(yield func(pair, error) bool) {
		for e, err := range entries {
			if err != nil {
				yield(pair{}, err)
				return
			}
			if !yield(pair{e.SortKey(), e.Append(nil)}, nil) {
				return
			}
		}
	}
	return func(yield func(*ledger.Entry, error) bool) {
		for p, err := range sorted(ctx, pairs) {
			var e *ledger.Entry
			if err == nil {
				e, err = ledger.Parse(p.value)
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
	}
}

// duplicates counts the entries whose id one before them has.
func duplicates(ctx context.Context, entries iter.Seq2[*ledger.Entry, error]) (n int, _ error) {
	ids := func(yield func(pair, error) bool) {
		for e, err := range entries {
			if err == nil && e.ID == nil {
				continue
			}
			var p pair
			if err == nil {
				sum := sha256.Sum256(e.ID)
				p.key = sum[:]
			}
			if !yield(p, err) || err != nil {
				return
			}
		}
	}
	var last []byte
	for p, err := range sorted(ctx, ids) {
		if err != nil {
			return 0, err
		}
		if slices.Equal(p.key, last) {
			n++
		}
		last = p.key
	}
	return n, nil
}

// clean removes the folder of work, and shards of an interrupted run that had other pieces.
func clean(ctx context.Context, j *job.Job, all []work.Summary) error {
	mine := map[string]bool{}
	for i := range all {
		p := &all[i].Piece
		if err := storage.Remove(ctx, j.Ledger(p), j.Done(p)); err != nil {
			return err
		}
		mine[j.Shard(p)], mine[j.Errors(p)] = true, all[i].Errors > 0
	}
	shards, err := j.Shards(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(shards, func(name string) bool { return mine[name] })
	return cmp.Or(storage.Remove(ctx, others...), storage.RemoveFolder(ctx, j.Work),
		storage.Clean(ctx, j.Output), storage.Clean(ctx, storage.Join(j.Output, "errors")))
}
