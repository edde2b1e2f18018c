package bench

// Several rows of one session with logits for each: what speculation evaluates.

import (
	"fmt"

	"picogpt/model"
)

// rowCounts are how many rows are measured, as far as the context holds them.
var rowCounts = []int{1, 2, 4, 8}

func rowsName(n int) string { return fmt.Sprint(n, " rows") }

// severalRows measures rows after a context of at tokens, each number in turn.
func (b *meter) severalRows(at int) error {
	s, err := b.prefilled(at)
	if err != nil {
		return err
	}
	counts, steps := b.rowCounts(at), []func() error{}
	for _, n := range counts {
		in := model.Input{Session: s, Tokens: b.prompt[:n], NoLogits: true,
			Visit: func(model.Row) {}}
		steps = append(steps, func() error {
			defer s.Truncate(at)
			return b.eval(in)
		})
	}
	took, err := b.inTurn(16, steps...)
	if err != nil {
		return err
	}
	for i, n := range counts {
		b.add(rowsName(n), took[i])
		b.add(rowsName(n)+" ratio", took[i]/took[0])
	}
	return nil
}

// rowCounts returns those that the context holds after at tokens.
func (b *meter) rowCounts(at int) (counts []int) {
	for _, n := range rowCounts {
		if at+n <= b.m.Config().Positions {
			counts = append(counts, n)
		}
	}
	return counts
}

func (b *meter) rows(at int) Rows {
	r := Rows{At: at}
	for _, n := range b.rowCounts(at) {
		r.Rows = append(r.Rows, n)
		r.MS = append(r.MS, b.median(rowsName(n))*1e3)
		r.Ratio = append(r.Ratio, b.median(rowsName(n)+" ratio"))
	}
	return r
}
