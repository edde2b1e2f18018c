// Package finish combines the results of the pieces: sums in the order of the documents, the
// digest, ranks, the manifest and the report. It streams the ledgers, so that memory does not grow
// with the corpus; sorting is done on disk.
package finish

// The end of a run: writing its page and its manifest, and removing temporary files.

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"picogpt/eval"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
	"picogpt/x/corpus/internal/work"
)

// Write completes a run of one phase.
func Write(ctx context.Context, j *job.Job, all []work.Summary) error {
	c, err := Add(ctx, j, all)
	if err != nil {
		return err
	}
	mine := map[string]bool{}
	for i := range all {
		p := &all[i].Piece
		mine[j.Shard(p)], mine[j.Errors(p)] = true, all[i].Errors > 0
	}
	return c.write(ctx, j, mine)
}

// WriteKept completes a filter, with Add's result for its first phase and all pieces of its second.
func (c *Corpus) WriteKept(ctx context.Context, j *job.Job, all []work.Kept) error {
	mine := map[string]bool{}
	var sum Filtered
	for i := range all {
		k := &all[i]
		if k.Piece.Index != i || k.Piece.Of != len(all) {
			return missing(i, k.Piece.Of)
		}
		sum.Kept += k.Kept
		sum.Dropped += k.Dropped
		sum.Unranked += k.Unranked
		sum.Replaced += k.Replaced
		mine[j.Kept(&k.Piece)], mine[j.Errors(&k.Piece)] = true, k.Errors > 0
	}
	f := c.Manifest.Filtered
	if len(all) != c.Manifest.Pieces || sum.Kept != f.Kept ||
		sum.Dropped != f.Dropped || sum.Unranked != f.Unranked {
		return fmt.Errorf("%d pieces with %d kept, %d dropped and %d unranked; want %d with %d, "+
			"%d and %d: the input has changed", len(all), sum.Kept, sum.Dropped, sum.Unranked,
			c.Manifest.Pieces, f.Kept, f.Dropped, f.Unranked)
	}
	f.Replaced = sum.Replaced
	return c.write(ctx, j, mine)
}

// write writes the page and the manifest. Of files of records and errors, only those in mine stay.
func (c *Corpus) write(ctx context.Context, j *job.Job, mine map[string]bool) error {
	var page bytes.Buffer
	r, err := c.report(j)
	if err != nil {
		return err
	}
	if err := r.HTML(&page); err != nil {
		return err
	}
	if err := storage.WriteFile(ctx, j.Report(), page.Bytes()); err != nil {
		return err
	}
	return cmp.Or(c.Manifest.write(ctx, j), clean(ctx, j, mine))
}

// clean removes the folder of temporary files, and shards of an interrupted run that had other
// pieces.
func clean(ctx context.Context, j *job.Job, mine map[string]bool) error {
	shards, err := j.Shards(ctx)
	if err != nil {
		return err
	}
	others := slices.DeleteFunc(shards, func(name string) bool { return mine[name] })
	return errors.Join(storage.Remove(ctx, others...), storage.Clean(ctx, j.Output),
		storage.Clean(ctx, storage.Join(j.Output, "errors")), storage.RemoveFolder(ctx, j.Work))
}

// Encode returns a corpus as bytes for the second phase.
func (c *Corpus) Encode() ([]byte, error) { return json.Marshal(c) }

// Decode reads what Encode has written.
func Decode(b []byte) (*Corpus, error) {
	c := &Corpus{}
	return c, json.Unmarshal(b, c)
}

// The manifest: the results of a run, as JSON.

// A Manifest holds the results of a run. It is written last: if it exists, the run is complete.
type Manifest struct {
	Command string      `json:"command"`
	Records int         `json:"records"` // scored records
	Errors  int         `json:"errors"`  // records with errors
	Tokens  int         `json:"tokens"`  // tokens with a log-probability
	Digest  eval.Digest `json:"digest"`  // of the records, as in gpt score --summary

	*Filtered

	Sum        float64    `json:"sum_logprob"`         // in the order of the documents
	Perplexity *float64   `json:"perplexity"`          // of all tokens
	Quantiles  []Quantile `json:"quantiles,omitempty"` // of the documents' perplexities

	// of corpus perplexity; nil if nothing was measured
	Result *eval.Result `json:"result,omitempty"`

	Duplicates int `json:"duplicate_ids"` // records whose id an earlier one has
	Pieces     int `json:"pieces"`

	Reasons []work.Reason `json:"reasons,omitempty"` // of the errors

	Model   work.Identity `json:"model"`
	Options job.Options   `json:"options"`
}

// Filtered says what a filter did with the records.
type Filtered struct {
	Kept    int `json:"kept"`
	Dropped int `json:"dropped"`
	// without a scored token, and therefore without a perplexity
	Unranked int `json:"unranked"`
	// kept records in which the perplexity has replaced a member
	Replaced int   `json:"replaced,omitempty"`
	Cuts     []Cut `json:"cuts"`
}

// A Quantile is the perplexity of the document of the nearest rank: the smallest one that at least
// this share of the documents does not exceed.
type Quantile struct {
	Percent    int      `json:"percent"`
	Perplexity *float64 `json:"perplexity"`
}

// A Cut divides the documents by rank.
type Cut struct {
	Label      string   `json:"cut"` // the option: quantile 0.1, or below 50
	Perplexity *float64 `json:"perplexity"`
	Below      int      `json:"documents_below"`
	Keeps      string   `json:"keeps"` // above or below
}

// finite returns a pointer to a number for JSON, or nil if it is not finite.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}

// write writes the manifest.
func (m *Manifest) write(ctx context.Context, j *job.Job) error {
	b, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return storage.WriteFile(ctx, j.Manifest(), append(b, '\n'))
}
