package check

// What was found: rows of a table.

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"picogpt/internal/strictjson"
)

// A Verdict says how a row ended.
type Verdict string

// The verdicts. Only Fault breaks a promise.
const (
	Same        Verdict = "same"         // equal, to the last bit
	Within      Verdict = "within"       // within the promise's bound
	Tie         Verdict = "tie"          // another token, whose logit is nearer than the bound
	Loss        Verdict = "loss"         // of a number format without a promise
	Fault       Verdict = "FAULT"        // a promise is broken
	NotCompared Verdict = "not compared" // Where says why
)

// A Row is one thing that was compared.
type Row struct {
	What       string
	Compared   string // how much of it, for people
	Count      int    // and as a number
	Difference float64
	Bound      float64 // of the promise; 0 if there is none, or the values must be equal
	Where      string  // the worst difference is; or why nothing was compared
	Verdict    Verdict

	// Of logits, perplexity and what was published: the worst pair, or the only one. Otherwise 0.
	Engine, Reference float64
}

// MarshalJSON writes one object; numbers that are not finite are null.
func (r Row) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		What       string   `json:"what"`
		Compared   int      `json:"compared"`
		Difference *float64 `json:"difference"`
		Bound      float64  `json:"bound"`
		Engine     *float64 `json:"engine"`
		Reference  *float64 `json:"reference"`
		Where      string   `json:"where"`
		Verdict    Verdict  `json:"verdict"`
	}{r.What, r.Count, strictjson.Number(r.Difference), r.Bound, strictjson.Number(r.Engine),
		strictjson.Number(r.Reference), r.Where, r.Verdict})
}

// A Report is the result of Compare.
type Report struct {
	Model   string `json:"model"` // set by the caller
	DType   string `json:"dtype"`
	Cache   string `json:"cache_dtype"`
	Kernel  string `json:"kernel"`
	Weights int    `json:"weights"`
	Tokens  int    `json:"tokens"` // compared, with the greedy ones
	Greedy  int    `json:"greedy"`

	Published string `json:"published,omitempty"` // the name of a Publication that was measured

	Rows  []Row    `json:"rows"`
	Place string   `json:"place"` // of the first fault, "" if there is none
	Notes []string `json:"notes"`
	Agree bool     `json:"agree"` // no promise is broken
}

// add appends a row.
func (r *Report) add(row Row) {
	r.Rows = append(r.Rows, row)
	if row.Verdict == Fault && r.Place == "" {
		r.Place = row.What + ": " + row.Where
	}
	r.Agree = r.Faults() == 0
}

// Faults returns the number of rows that break a promise.
func (r *Report) Faults() (n int) {
	for _, row := range r.Rows {
		if row.Verdict == Fault {
			n++
		}
	}
	return n
}

// Err returns an error that names the place of the first fault, or nil.
func (r *Report) Err() error {
	switch {
	case r.Agree:
		return nil
	case r.Published != "":
		return fmt.Errorf("not what was published of %s: %s", r.Published, r.Place)
	}
	return fmt.Errorf("the engine and the reference differ: %s", r.Place)
}

// String is the table, the notes and the verdict.
func (r *Report) String() string { return r.Text(0) }

// Text is String for a terminal of that many columns: if the places have no room beside the rest of
// the table, they stand below their rows. 0 is any number of columns.
func (r *Report) Text(columns int) string {
	cells, width := r.cells()
	all := 2 * (len(width) - 1)
	for _, w := range width {
		all += w
	}
	last := len(width)
	if columns > 0 && all > columns {
		last--
	}
	var b strings.Builder
	for n, line := range cells {
		text := ""
		for i, cell := range line[:last] {
			text += cell + strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)+2)
		}
		b.WriteString(strings.TrimRight(text, " ") + "\n")
		if n > 0 && last < len(line) && line[last] != "" {
			indented(&b, line[last], max(20, columns-4))
		}
	}
	b.WriteString("\n")
	for _, note := range r.Notes {
		b.WriteString(note + "\n")
	}
	b.WriteString(r.verdict() + "\n")
	return b.String()
}

// indented writes lines of at most that many columns, each after four spaces, cut between words.
func indented(b *strings.Builder, text string, columns int) {
	words := strings.Split(text, " ")
	line := words[0]
	for _, word := range words[1:] {
		if utf8.RuneCountInString(line+" "+word) > columns {
			b.WriteString("    " + line + "\n")
			line = word
		} else {
			line += " " + word
		}
	}
	b.WriteString("    " + line + "\n")
}

// cells returns the table with its heading, and the width of each column.
func (r *Report) cells() (cells [][]string, width []int) {
	cells = [][]string{{"", "compared", "difference", "verdict", "where"}}
	for _, row := range r.Rows {
		diff := ""
		switch {
		case row.Bound > 0:
			diff = fmt.Sprintf("%.2g of %.2g", row.Difference, row.Bound)
		case row.Difference != 0:
			diff = fmt.Sprintf("%.3g", row.Difference)
		}
		cells = append(cells, []string{row.What, row.Compared, diff, string(row.Verdict),
			row.Where})
	}
	width = make([]int, len(cells[0]))
	for _, line := range cells {
		for i, cell := range line {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	return cells, width
}

// verdict is one line; where something differs, Err is that line.
func (r *Report) verdict() string {
	formats := r.DType + cmp.Or(map[string]string{"f16": " with the f16 cache",
		"q8": " with the q8 cache"}[r.Cache], "")
	switch {
	case !r.Agree:
		return ""
	case r.Published != "":
		return "What was measured is what was published of " + r.Published + "."
	case r.DType == "q8" || r.DType == "q4" || r.Cache != "f32":
		return formats + " has no promise: this is what it loses."
	}
	var left []string
	for _, row := range r.Rows {
		if row.Verdict == NotCompared {
			left = append(left, row.What)
		}
	}
	if len(left) > 0 {
		return "What was compared agrees: " + formats + " keeps the promise. Not compared: " +
			strings.Join(left, ", ") + "."
	}
	return "They agree: " + formats + " keeps the promise."
}
