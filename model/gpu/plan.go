package gpu

// The plan of a pass: the numbers that the kernels read. kernels/rows.cl and attention.cl name
// them.

import (
	"picogpt/internal/engine"
)

// A plan has four numbers for each row; then, from scratch.list on, two for each group of
// attention: first the groups of one row, then those of several; then the page numbers of each
// text. If the last block is computed for some rows only, there follow the groups of attention for
// these, and their numbers.
type plan struct {
	words  []int32
	attend groupLists // of all rows
	wanted int        // rows whose logits are computed
	single bool       // each text has one row

	only      bool       // the last block is computed for those rows only
	attendFor groupLists // of those rows
	rows      int        // the index of the list of those rows
}

// groupLists are the groups of attention: two numbers each, from index list on.
type groupLists struct {
	list         int
	alone, tiles int // groups with one row, and then those with several
}

const (
	queries    = 16 // rows of a group of the kernel attend_tile
	leastTiled = 8  // rows of one text from which attend_tile is used
)

// The numbers of a row in a plan.
const (
	rowToken, rowPosition, rowPages = 0, 1, 2
	rowWanted                       = 3 // not the row's own: the row whose logits are wanted next
	rowWords                        = 4

	noPages = -1
)

// planWords returns the largest number of words in a plan of a pass, with room for that many rows.
func planWords(rows int, p *engine.Pass) int {
	n := rowWords*rows + 2*rows
	n += 2*rows + rows // for the last block
	for i := range p.Spans {
		n += len(p.Spans[i].Cache.(*cache).pages)
	}
	return n
}

// make makes the plan of a pass. Its rows are in o; list is the index of the groups of attention.
// There are more rows than in o if those of a recording are (see pad).
func (l *plan) make(p *engine.Pass, o *engine.Outputs, list, rows int) {
	l.words = append(l.words[:0], make([]int32, list)...)
	l.wanted, l.single = 0, true
	for i := range p.Spans {
		s := &p.Spans[i]
		l.single = l.single && len(s.Tokens) == 1
		for at, token := range s.Tokens {
			words := l.row(o.Start(i) + at)
			words[rowToken], words[rowPosition] = int32(token), int32(s.Position+at)
			if s.Wants(at) {
				l.want(o.Start(i) + at)
			}
		}
	}
	l.attend = groupLists{list: list, alone: l.group(p, o, 1, false)}
	for row := o.Rows(); row < rows; row++ {
		l.words = append(l.words, int32(row), 1)
		l.attend.alone++
	}
	l.attend.tiles = l.group(p, o, queries, false)
	for i := range p.Spans {
		s := &p.Spans[i]
		for at := range s.Tokens {
			l.row(o.Start(i) + at)[rowPages] = int32(len(l.words))
		}
		l.words = append(l.words, s.Cache.(*cache).pages...)
	}
}

// row returns the numbers of a row.
func (l *plan) row(row int) []int32 { return l.words[rowWords*row:][:rowWords] }

// want adds a row to those whose logits are computed.
func (l *plan) want(row int) {
	l.row(l.wanted)[rowWanted] = int32(row)
	l.wanted++
}

// group lists the groups of attention of each rows: of the texts with few rows, if each is 1, or of
// the others. If only is set, it lists the rows whose logits are wanted, which are the last ones of
// each text. It returns the number of groups.
func (l *plan) group(p *engine.Pass, o *engine.Outputs, each int, only bool) (n int) {
	for i := range p.Spans {
		rows := len(p.Spans[i].Tokens)
		if (rows < leastTiled) != (each == 1) {
			continue
		}
		at := 0
		for only && at < rows && !p.Spans[i].Wants(at) {
			at++
		}
		for ; at < rows; at += each {
			l.words = append(l.words, int32(o.Start(i)+at), int32(min(each, rows-at)))
			n++
		}
	}
	return n
}

// last makes the last block one for the rows whose logits are wanted, if these are not all.
func (l *plan) last(p *engine.Pass, o *engine.Outputs) {
	if l.only = l.wanted < o.Rows(); !l.only {
		return
	}
	l.attendFor.list = len(l.words)
	l.attendFor.alone = l.group(p, o, 1, true)
	l.attendFor.tiles = l.group(p, o, queries, true)
	l.rows = len(l.words)
	for i := range l.wanted { // after the last block they stand one after the other
		l.words = append(l.words, l.row(i)[rowWanted])
		l.row(i)[rowWanted] = int32(i) // in what append has made
	}
}

// pad makes the rows after those of o, up to rows, ones without a text: they have no pages and no
// attention, and nobody reads their logits. Then it adds rows whose logits nobody wants to those
// whose logits are computed, up to wanted.
func (l *plan) pad(p *engine.Pass, o *engine.Outputs, rows, wanted int) {
	for row := o.Rows(); row < rows; row++ {
		words := l.row(row)
		words[rowToken], words[rowPosition], words[rowPages] = 0, 0, noPages
	}
	for row := 0; l.wanted < wanted; row++ {
		if row < o.Rows() {
			if span, at := o.At(row); p.Spans[span].Wants(at) {
				continue
			}
		}
		l.want(row)
	}
}
