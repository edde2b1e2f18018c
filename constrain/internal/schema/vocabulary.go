package schema

// Vocabulary: the ids, with what all schemas of them share.

import (
	"bytes"
	"sync"

	"picogpt/constrain/internal/trie"
)

// Vocabulary are the ids, and what all schemas of a vocabulary have in common: masks of strings of
// any characters, and of all numbers; and the automatons of formats.
type Vocabulary struct {
	*trie.Trie
	free  lexMasks
	ready sync.Map // the automatons, by their keys

	once   sync.Once
	opened int // brackets in one id, at most
}

// nesting returns how many containers one id can open at most.
func (v *Vocabulary) nesting() int {
	v.once.Do(func() {
		for _, id := range v.Bytes {
			v.opened = max(v.opened, bytes.Count(id, []byte{'['})+bytes.Count(id, []byte{'{'}))
		}
	})
	return v.opened
}
