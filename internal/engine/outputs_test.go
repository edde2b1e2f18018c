package engine

// Which of the logits that are not finite an error names.

import (
	"math/rand/v2"
	"testing"
)

func TestTheFirstOfThePassIsReportedWhoeverFindsIt(t *testing.T) {
	var all []NonFiniteError
	for span := range 3 {
		for token := range 3 {
			for id := range 3 {
				all = append(all, NonFiniteError{Span: span, Token: token, ID: id})
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 1))
	for first := range all {
		var o Outputs
		for _, i := range r.Perm(len(all) - first) {
			found := all[first+i]
			o.report(&found)
		}
		if got := *o.nonFinite.Load(); got != all[first] {
			t.Errorf("%v, want %v", got, all[first])
		}
	}
}
