package batch

// Helpers that these tests share with other packages, by short names.

import (
	"math/rand/v2"
	"testing"

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
	bySample  = texts.BySample
	checkHeld = texts.CheckHeld
	collect   = texts.Collect
	count     = texts.Count
	ids       = texts.IDs
	same      = texts.Same
	sized     = cases.Sized
	upTo      = texts.UpTo
)

// tiny returns a random model with a context of 23 and 29 ids.
func tiny(t testing.TB, o fixture.Options) *model.Model {
	t.Helper()
	config, file := fixture.Checkpoint(o)
	return testmodel.New(t, config, file, model.Options{Threads: 1})
}

// randomIDs returns ids of the small model.
func randomIDs(random *rand.Rand, n int) []int {
	ids := make([]int, n)
	for i := range ids {
		ids[i] = random.IntN(29)
	}
	return ids
}
