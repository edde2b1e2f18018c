// GPT-2's own vocabulary, embedded.

package tokenizer

import (
	"runtime"
	"sync"

	"picogpt/tokenizer/r50k"
)

// GPT2Size is the number of GPT-2's ids. The last is <|endoftext|>.
const GPT2Size = 50257

// GPT2 returns GPT-2's tokenizer: 50,257 ids, of which 50256 is <|endoftext|>. It is built on the
// first call, in about 2 ms and 3 MB, and shared by all callers.
func GPT2() *Tokenizer { return gpt2() }

var gpt2 = sync.OnceValue(func() *Tokenizer { return fromTable(r50k.Table()) })

// fromTable returns the tokenizer for a table in r50k.Table's layout. The merge of rank r makes the
// id 256 + r.
func fromTable(table string) *Tokenizer {
	merges := (len(table) - 256) / 4
	start := make([]uint32, 1, 256+merges+2)
	s := &byteLevel{
		tokens:   &tokens{},
		complete: true,
		merges:   newMerges(merges),
	}
	text := make([]byte, 0, 7*(256+merges)) // GPT-2's tokens have 6.4 bytes on average
	for id := range 256 {
		s.byteID[table[id]] = uint32(id)
		text = append(text, table[id])
		start = append(start, uint32(len(text)))
	}
	pair := func(rank uint32) (left, right uint32) {
		entry := table[256+4*rank:][:4]
		return uint32(entry[0]) | uint32(entry[1])<<8, uint32(entry[2]) | uint32(entry[3])<<8
	}
	const ahead = 16 // the processor waits for so many slots of the table at once, not for each
	seen := uint32(0)
	for rank := range uint32(merges) {
		if rank%ahead == 0 {
			for r := rank; r < min(rank+ahead, uint32(merges)); r++ {
				seen |= s.pairs.touch(pair(r))
			}
		}
		left, right := pair(rank)
		s.pairs.set(left, right, rank)
		s.merged[rank] = 256 + rank
		text = append(text, text[start[left]:start[left+1]]...)
		text = append(text, text[start[right]:start[right+1]]...)
		start = append(start, uint32(len(text)))
	}
	runtime.KeepAlive(seen) // so that no compiler leaves touch out
	endOfText := 256 + merges
	text = append(text, EndOfTextToken...)
	s.text, s.start = string(text), append(start, uint32(len(text)))
	added := []addedToken{{text: EndOfTextToken, id: endOfText, special: true, asked: true}}
	return s.tokenizer(added, endOfText)
}
