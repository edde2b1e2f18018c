// Sets of characters.

package regex

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestSetsHaveTheirCharacters: what with, and, negated and a charset say is what a list of all
// characters says.
func TestSetsHaveTheirCharacters(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	ends := []rune{0, 1, 9, 127, 128, 255, 256, 257, 511, 512, 0xFFFF, 0x10000, 0x10FFFF, noRune}
	set := func() (s runeSet) {
		for range random.IntN(12) {
			from, to := ends[random.IntN(len(ends))], ends[random.IntN(len(ends))]
			s = s.with(runeSet{{min(from, to), max(from, to)}})
		}
		return s
	}
	for range 2000 {
		a, b := set(), set()
		for name, s := range map[string]runeSet{"with": a.with(b), "and": a.and(b), "negated": a.negated()} {
			fast := newCharset(s)
			for _, c := range ends {
				has := slices.ContainsFunc(a, func(r [2]rune) bool { return r[0] <= c && c <= r[1] })
				other := slices.ContainsFunc(b, func(r [2]rune) bool { return r[0] <= c && c <= r[1] })
				want := map[string]bool{"with": has || other, "and": has && other, "negated": !has}[name]
				if s.has(c) != want || fast.has(c) != want {
					t.Fatalf("%v %s %v has %#x: %t, %t", a, name, b, c, s.has(c), fast.has(c))
				}
			}
		}
	}
	if _, ok := namedSet("greek"); !ok {
		t.Error("no set")
	}
	if set, ok := namedSet("klingon"); ok || set != nil {
		t.Error("a set of no name")
	}
}
