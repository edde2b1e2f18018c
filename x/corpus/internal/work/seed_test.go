package work

import (
	"encoding/json"
	"math"
	"testing"

	"picogpt/eval"
	"picogpt/internal/lines"
)

// The seeds are those of this program in Python, which knows the comment of seedOf only:
//
//	import hashlib
//	le = lambda n: n.to_bytes(8, "little")
//	sha = lambda b: hashlib.sha256(b).digest()
//	def seed(s, kind, value):
//	    b = b"picogpt corpus seed 1" + le(s) + kind + le(len(value)) + value
//	    return int.from_bytes(sha(b)[:8], "big") >> 11
//	def text(x): return b"\1" + le(len(x.encode())) + x.encode()
//	def other(x): return b"\2" + le(len(x)) + x
//	seed(1, b"i", text("b")), seed(1, b"i", text("é\n")), seed(2**64-1, b"i", other(b"7")),
//	seed(0, b"i", other(b'{"a":[1]}')), seed(0, b"i", text("")),
//	seed(1, b"p", sha(b"Once upon a time")), seed(0, b"p", sha(b"")),
//	seed(1, b"t", sha(le(7454) + le(2402))), seed(1, b"t", sha(b""))
func TestSeedsAreThoseOfTheDefinition(t *testing.T) {
	prompt, none, own := "Once upon a time", "", uint64(math.MaxUint64)
	for _, c := range []struct {
		seed   uint64
		id     string
		prompt lines.Prompt
		want   uint64
	}{
		{1, `"b"`, lines.Prompt{Text: &prompt}, 1405882226211727},
		{1, `"b"`, lines.Prompt{Text: &none}, 1405882226211727},
		{1, `"\u0062"`, lines.Prompt{IDs: []int{7}}, 1405882226211727},
		{1, `"é\n"`, lines.Prompt{Text: &prompt}, 6231728571285254},
		{math.MaxUint64, "7", lines.Prompt{Text: &prompt}, 5814229589601491},
		{0, ` { "a": [1] } `, lines.Prompt{Text: &prompt}, 4938905564564082},
		{0, `""`, lines.Prompt{Text: &prompt}, 7484465845246228},
		{1, "", lines.Prompt{Text: &prompt, IDs: []int{7}}, 7124790828205034},
		{1, "null", lines.Prompt{Text: &prompt}, 7124790828205034},
		{0, "", lines.Prompt{Text: &none}, 3834631716877656},
		{1, "", lines.Prompt{IDs: []int{7454, 2402}}, 3359984860973214},
		{1, "", lines.Prompt{}, 266514247954945},
		{1, `"b"`, lines.Prompt{Text: &prompt, Seed: &own}, math.MaxUint64},
	} {
		canonical, err := eval.CanonicalID(json.RawMessage(c.id))
		if err != nil {
			t.Fatal(err)
		}
		if got := seedOf(c.seed, canonical, &c.prompt); got != c.want {
			t.Errorf("--seed %d, id %s, %+v: %d, want %d", c.seed, c.id, c.prompt, got, c.want)
		}
	}
}
