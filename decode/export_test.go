package decode

// Internals that tests outside the package use, and helpers that they give to it.

import (
	"iter"
	"testing"

	"picogpt/constrain"
	"picogpt/model"
)

// Together is how many samples share an Eval.
const Together = together

// Named gives alternatives their texts.
var Named = named

// AlwaysDraft makes drafts as long as they can be, whatever they cost.
func (o Options) AlwaysDraft() Options {
	o.alwaysDraft = true
	return o
}

// InABatch writes samples in a batch of so many streams (0 for its default), which package batch
// does.
var InABatch func(t testing.TB, m *model.Model, streams int, prompt []int, samples int,
	o Options) iter.Seq2[Token, error]

// Unforced makes the form not tell what it forces, so that there are no drafts of it.
func (o Options) Unforced() Options {
	if form, ok := o.Constraint.(*constrain.Text); ok {
		o.Constraint = unforced{form}
	}
	return o
}
