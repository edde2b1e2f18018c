//go:build gpu

package model_test

// Sessions that a processor saves and a GPU continues, and the other way.

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/testdevice"
	"picogpt/model"
)

func TestADeviceContinuesSessionsOfTheProcessor(t *testing.T) {
	device := testdevice.Open(t)
	on := func(o model.Options) model.Options { o.Device = device; return o }
	for i, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			f := newFleet(t, name, snapshotFormats[i%4], on, on, on)
			r := rand.New(rand.NewPCG(81, uint64(i)))
			for range cases.Sized(4, 1000/len(shapes)) {
				f.check(t, r)
			}
		})
	}
}
