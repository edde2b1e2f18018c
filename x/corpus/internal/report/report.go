// Package report writes the page of a run over a corpus: its numbers, the histogram of perplexities
// with the cuts of a filter, and the reasons of errors. Fill a Report and call HTML. Each piece of
// work counts in a Histogram, and Merge joins them.
package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"time"

	"picogpt/internal/webparts"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// A Report is the contents of the page. Equal reports make equal pages. Zero or empty values are
// left out where they mean nothing.
type Report struct {
	Title   string
	Command string // the command line that repeats the run
	Model   string
	Options []Option
	Digest  string

	Records    int64 // documents scored
	Errors     int64 // documents with errors
	Tokens     int64
	Duplicates int64   // documents whose id an earlier document has
	Perplexity float64 // of all tokens; 0 or NaN if there is none

	Histogram *Histogram // nil if the command measures no perplexity
	Quantiles []Quantile
	Filter    *Filter  // nil if the command keeps all documents
	Reasons   []Reason // of errors; those with the most documents are shown

	Took time.Duration // 0 is not shown, so that the page is the same each time
}

// An Option is one choice of the run.
type Option struct{ Name, Value string }

// A Quantile says that a share of the documents, in percent, has at most this perplexity.
type Quantile struct{ Percent, Perplexity float64 }

// A Filter describes what was kept, and by which cuts: a kept document is on the kept side of all
// cuts.
type Filter struct {
	Kept int64
	Cuts []Cut
}

// A Cut is a perplexity that divides kept from other documents.
type Cut struct {
	Label      string // the option: "--below 50", "quantile 0.1"
	Perplexity float64
	Share      float64 // of the documents with a perplexity, from 0 to 1: those below the cut
	KeepsBelow bool    // otherwise it keeps the documents above it
}

// A Reason is the reason of errors, and the number of documents with it.
type Reason struct {
	Text  string
	Count int64
}

// HTML writes the page: one file without scripts that refers to no other file.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, view{
		Report: r, CSS: template.CSS(webparts.Files()["palette.css"] + pageCSS),
		Heading: cmp.Or(text(r.Title), "Report"), ScoredBy: text(r.Model), Facts: r.facts(),
		Chart: r.chart(), Words: r.words(), Bins: r.bins(), Quantiles: r.quantiles(),
		Cuts: r.cuts(), Reasons: r.reasons(), Run: r.run(),
	})
}
