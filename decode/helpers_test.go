package decode_test

// Helpers that these tests share with other packages, by short names.

import (
	"iter"
	"testing"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/dev/texts"
	"picogpt/dev/toys"
	"picogpt/model"
)

type (
	letters   = toys.Letters
	forgetful = toys.Forgetful
	yielded   = texts.Yielded
)

var (
	bySample    = texts.BySample
	checkGoesOn = texts.CheckGoesOn
	collect     = texts.Collect
	count       = texts.Count
	endings     = texts.Endings
	ids         = texts.IDs
	named       = decode.Named
	same        = texts.Same
	sized       = cases.Sized
	upTo        = texts.UpTo
	ways        = texts.Ways
)

// echoes returns options with scored prompts.
func echoes() map[string]decode.Options {
	all := texts.Echoes()
	all["lookup"] = all["lookup"].AlwaysDraft()
	return all
}

// tiny returns a random model with a context of 23 and 29 ids.
func tiny(t testing.TB, o fixture.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	return testmodel.New(t, config, file, model.Options{Threads: 1})
}

func init() {
	decode.InABatch = func(t testing.TB, m *model.Model, streams int, prompt []int, samples int,
		o decode.Options) iter.Seq2[decode.Token, error] {
		return func(yield func(decode.Token, error) bool) {
			b := batch.New(m, batch.Options{MaxStreams: streams})
			defer b.Close()
			b.Samples(t.Context(), prompt, samples, o)(yield)
		}
	}
}
