package trie

// Spelling: the fewest ids whose bytes together are a text.

import "math"

// Spell returns the fewest ids whose bytes together are a text; of those that are as few, the first
// is the longest. ok is false if no ids are.
func (v *Trie) Spell(text []byte) (ids []int, ok bool) {
	fewest, first := v.spell(text)
	if fewest[0] == math.MaxInt32 {
		return nil, false
	}
	for at := 0; at < len(text); {
		ids = append(ids, int(first[at]))
		at += len(v.Bytes[first[at]])
	}
	return ids, true
}

// Fewest returns how many ids Spell returns, and Never if there are none.
func (v *Trie) Fewest(text []byte) int {
	fewest, _ := v.spell(text)
	return min(int(fewest[0]), Never)
}

// Never is more ids than a text has.
const Never = 1 << 28

// spell returns, of the end of a text from each byte on, how many ids it has at least, and the first
// of them.
func (v *Trie) spell(text []byte) (fewest, first []int32) {
	n := len(text)
	fewest, first = make([]int32, n+1), make([]int32, n)
	for i := n - 1; i >= 0; i-- {
		fewest[i] = math.MaxInt32
		for at, k := 0, i; k < n; {
			if at = v.Child(at, text[k]); at < 0 {
				break
			}
			k++
			if id := v.Nodes[at].ID; id >= 0 && fewest[k] < fewest[i] {
				fewest[i], first[i] = fewest[k]+1, id
			}
		}
	}
	return fewest, first
}
