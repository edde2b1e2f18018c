// Package report writes the page that a run over a corpus leaves: its numbers, the histogram of
// perplexities with the cuts of a filter, and the reasons of what was set aside. Fill a Report and
// call HTML. Pieces of work count into a Histogram each, and Merge makes them one.
package report

import (
	"cmp"
	_ "embed"
	"html/template"
	"io"
	"time"

	"picogpt/internal/surprise"
)

//go:embed page.html
var pageHTML string

//go:embed page.css
var pageCSS string

// A Report is what the page says. Equal reports make equal pages. What is zero or empty is not
// shown where it says nothing.
type Report struct {
	Title   string
	Command string // the command line, for another run
	Model   string
	Options []Option
	Digest  string

	Records    int64 // documents scored
	Errors     int64 // documents set aside
	Tokens     int64
	Duplicates int64   // documents whose id another document has too
	Perplexity float64 // of all tokens; 0 or NaN: none

	Histogram *Histogram // nil: the command measures no perplexity
	Quantiles []Quantile
	Filter    *Filter  // nil: the command keeps all
	Reasons   []Reason // why documents were set aside; those with most documents are shown

	Took time.Duration // 0: not said, so that the page is the same every time
}

// An Option is one choice of the run.
type Option struct{ Name, Value string }

// A Quantile says that a share of the documents, in percent, has at most this perplexity.
type Quantile struct{ Percent, Perplexity float64 }

// A Filter is what was kept, and by which cuts: what is kept is on the kept side of all of them.
type Filter struct {
	Kept int64
	Cuts []Cut
}

// A Cut is a perplexity beyond which documents are not kept.
type Cut struct {
	Label      string // what was asked for: "--below 50", "quantile 0.1"
	Perplexity float64
	Share      float64 // of the documents that have a perplexity, from 0 to 1: those below the cut
	KeepsBelow bool    // else it keeps what is above
}

// A Reason is why documents were set aside, and how many.
type Reason struct {
	Text  string
	Count int64
}

// HTML writes the page: one file that needs nothing besides itself, and no scripts.
func (r *Report) HTML(w io.Writer) error {
	t, err := template.New("page").Parse(pageHTML)
	if err != nil {
		return err
	}
	return t.Execute(w, view{
		Report: r, CSS: template.CSS(surprise.Palette() + pageCSS),
		Heading: cmp.Or(text(r.Title), "Report"), ScoredBy: text(r.Model), Facts: r.facts(),
		Chart: r.chart(), Words: r.words(), Bins: r.bins(), Quantiles: r.quantiles(),
		Cuts: r.cuts(), Reasons: r.reasons(), Run: r.run(),
	})
}
