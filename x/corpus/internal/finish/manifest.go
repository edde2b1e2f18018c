// Package finish combines the results of the pieces: sums in the order of the documents, the
// digest, ranks, the manifest and the report. It streams the ledgers, so that memory does not grow
// with the corpus; sorting is done on disk.
package finish

// The manifest: the results of a run, as JSON.

import (
	"context"
	"encoding/json"
	"math"

	"picogpt/eval"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
	"picogpt/x/corpus/internal/work"
)

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
