package main

import (
	"testing"

	"picogpt/dev/cases"
	"picogpt/internal/engine"
)

// recorded are the digests by the version of the arithmetic. If the digest changes, the bits that
// users get have changed: raise engine.Arithmetic and record the new one beside the old ones. Where
// only a format is added, the new digest replaces the old one.
var recorded = map[int]string{
	1: "28e93e6b5bc57707d5f77417d24b827d9cae4f4853725a2f0d4e52dd8cdbc73f",
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
