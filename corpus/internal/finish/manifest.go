// Package finish puts together what the pieces came to: sums in the order of the documents, the
// digest, ranks, the manifest and the report. It streams the ledgers, so that memory does not grow
// with the corpus; what must be sorted is sorted on disk.
package finish

// The manifest: what a run came to, as JSON.

import (
	"context"
	"encoding/json"
	"math"

	"picogpt/corpus/internal/job"
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

	*Filtered

	Sum        float64    `json:"sum_logprob"`         // in the order of the documents
	Perplexity *float64   `json:"perplexity"`          // of all tokens
	Quantiles  []Quantile `json:"quantiles,omitempty"` // of the documents' perplexities

	Result *eval.Result `json:"result,omitempty"` // of perplexity, nil where nothing was measured

	Duplicates int `json:"duplicate_ids"` // records whose id another one before them has
	Pieces     int `json:"pieces"`

	Reasons []work.Reason `json:"reasons,omitempty"` // of the errors

	Model   work.Identity `json:"model"`
	Options job.Options   `json:"options"`
}

// Filtered is what a filter did with the records.
type Filtered struct {
	Kept     int   `json:"kept"`
	Dropped  int   `json:"dropped"`
	Unranked int   `json:"unranked"`           // without a scored token, and so without a perplexity
	Replaced int   `json:"replaced,omitempty"` // of those kept, a member gave way to the perplexity
	Cuts     []Cut `json:"cuts"`
}

// A Quantile is the perplexity of the document of the nearest rank: the smallest one that at least
// this share of the documents does not exceed.
type Quantile struct {
	Percent    int      `json:"percent"`
	Perplexity *float64 `json:"perplexity"`
}

// A Cut parts the documents, in the order of their ranks.
type Cut struct {
	Label      string   `json:"cut"` // what was asked for: quantile 0.1, or below 50
	Perplexity *float64 `json:"perplexity"`
	Below      int      `json:"documents_below"`
	Keeps      string   `json:"keeps"` // above or below
}

// finite is a number for JSON, nil where it is none.
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
