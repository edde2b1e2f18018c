package main

import (
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
)

// recorded are the digests by the version of the arithmetic. If the digest changes, the bits that
// users get have changed: raise engine.Arithmetic and record the new one beside the old ones.
var recorded = map[int]string{
	1: "ade3d8f6877e70a4bdb0798abf34dcf96151495bef3958a30ca3cd31bc477f38",
}

func TestTheArithmeticIsWhatItsVersionSays(t *testing.T) {
	cases.NotShort(t)
	sum, err := digest(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := recorded[engine.Arithmetic]; sum != want {
		t.Errorf("arithmetic %d: digest %s, want %s", engine.Arithmetic, sum, want)
	}
}
