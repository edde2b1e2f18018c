// GPT-2's own vocabulary, which is embedded, and its pattern, which splits a text into pieces: by
// hand, in one pass without backtracking.

package tokenizer

import (
	"runtime"
	"strings"
	"sync"
	"unicode/utf8"

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
	return s.tokenizer([]addedToken{specialToken(EndOfTextToken, endOfText)}, endOfText)
}

// gpt2Pattern is the pattern that pieceLen implements (openai/gpt-2, src/encoder.py). Merges never
// cross the border of two pieces.
const gpt2Pattern = `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// gpt2PatternShort is the same pattern in tiktoken's form.
const gpt2PatternShort = `'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`

// A class is one of the sets of characters that the pattern distinguishes.
type class uint8

const (
	symbol class = iota // [^\s\p{L}\p{N}], and any byte that is no part of valid UTF-8
	letter              // \p{L}
	number              // \p{N}
	space               // \s
)

// classify returns the class of the first rune of s, which is not empty, and its length in bytes.
func classify(s string) (class, int) {
	if c := s[0]; c < utf8.RuneSelf {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			return letter, 1
		case '0' <= c && c <= '9':
			return number, 1
		case c == ' ' || '\t' <= c && c <= '\r':
			return space, 1
		}
		return symbol, 1
	}
	_, is, size := propertyTable().next(s)
	return class(is >> classBits), size
}

// pieceLen returns the length of the first piece of s, which is not empty. It tries the pattern's
// alternatives in order. After a run of white space it reads at most one rune of it again, so that
// a whole text takes linear time.
func pieceLen(s string) int {
	if s[0] == '\'' {
		if n := contractionLen(s); n > 0 {
			return n
		}
	}
	lead := 0 // the optional space before a word
	if s[0] == ' ' && len(s) > 1 {
		lead = 1
	}
	if kind, size := classify(s[lead:]); kind != space {
		end := lead + size
		for end < len(s) {
			next, size := classify(s[end:])
			if next != kind {
				break
			}
			end += size
		}
		return end
	}
	// White space: all of it at the end of the text; otherwise all except the last rune, with which
	// a word may begin; but at least one rune.
	end, last := 0, 0
	for end < len(s) {
		kind, size := classify(s[end:])
		if kind != space {
			if last > 0 {
				return last
			}
			return end
		}
		last = end
		end += size
	}
	return end
}

// contractionLen returns the length of the 's, 't, 're, 've, 'm, 'll or 'd at the start of s, or 0.
func contractionLen(s string) int {
	for _, ending := range [...]string{"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"} {
		if strings.HasPrefix(s, ending) {
			return len(ending)
		}
	}
	return 0
}
