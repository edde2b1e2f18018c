package gpu

// The plan of a pass: the numbers that the kernels read. kernels/rows.cl and attention.cl name
// them.

import (
	"picogpt/internal/engine"
)

// A plan has four numbers for each row; then, from scratch.list on, two for each group of
// attention: first the groups of one row, then those of several; then the page numbers of each
// text.
type plan struct {
	words        []int32
	alone, tiles int // groups of attention with one row, and with several
}

const (
	queries    = 16 // rows of a group of the kernel attend_tile
	leastTiled = 8  // rows of one text from which attend_tile is used
)

// planWords returns the largest number of words in a plan of a pass, with room for that many rows.
func planWords(rows int, p *engine.Pass) int {
	n := 4*rows + 2*rows
	for i := range p.Spans {
		n += len(p.Spans[i].Cache.(*cache).pages)
	}
	return n
}

// make makes the plan of a pass. Its rows are in o; list is the index of the groups of attention.
func (l *plan) make(p *engine.Pass, o *engine.Outputs, list int) {
	l.words = append(l.words[:0], make([]int32, list)...)
	wanted := 0
	for i := range p.Spans {
		s := &p.Spans[i]
		for at, token := range s.Tokens {
			row := o.Start(i) + at
			l.words[4*row], l.words[4*row+1] = int32(token), int32(s.Position+at)
			if s.Wants(at) {
				l.words[4*wanted+3] = int32(row)
				wanted++
			}
		}
	}
	l.alone = l.group(p, o, 1)
	l.tiles = l.group(p, o, queries)
	for i := range p.Spans {
		s := &p.Spans[i]
		for at := range s.Tokens {
			l.words[4*(o.Start(i)+at)+2] = int32(len(l.words))
		}
		l.words = append(l.words, s.Cache.(*cache).pages...)
	}
}

// group lists the groups of attention of each rows: of the texts with few rows, if each is 1, or of
// the others. It returns the number of groups.
func (l *plan) group(p *engine.Pass, o *engine.Outputs, each int) (n int) {
	for i := range p.Spans {
		rows := len(p.Spans[i].Tokens)
		if (rows < leastTiled) != (each == 1) {
			continue
		}
		for at := 0; at < rows; at += each {
			l.words = append(l.words, int32(o.Start(i)+at), int32(min(each, rows-at)))
			n++
		}
	}
	return n
}
