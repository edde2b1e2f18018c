package work

// The seeds of texts.

import (
	"crypto/sha256"
	"encoding/binary"

	"picogpt/internal/lines"
)

// seedOf returns the seed of the first text that continues a prompt; text i, counted from 0, has
// that seed + i, mod 2⁶⁴. A record's member seed, if it has one, is used instead. Otherwise the
// seed depends on --seed and the record's id, or on --seed and the prompt if there is no id (or
// null). So it does not depend on where, when and with which other records the record is processed,
// and another program can compute it: it is the first 53 bits, the most significant bit first, of
// the SHA-256 of these bytes. (Every JSON reader has numbers of 53 bits exactly.) Integers have 64
// bits, the least significant byte first.
//
//	version   the 21 bytes "picogpt corpus seed 1"
//	--seed    an integer
//	kind      the byte "i" for an id, "p" for a prompt that is a text, "t" for one that is tokens
//	length    of what follows, an integer
//	value     i: the id as an eval.Digest has it: the byte 1, the length of the UTF-8 (an integer)
//	             and the UTF-8 for a string, its escapes resolved; the byte 2, the length of the JSON
//	             and the JSON without white space between its parts for any other value
//	          p: the SHA-256 of the text's UTF-8, 32 bytes
//	          t: the SHA-256 of the token ids, each an integer, 32 bytes
func seedOf(seed uint64, canonical []byte, p *lines.Prompt) uint64 {
	integer := binary.LittleEndian.AppendUint64
	kind, value := byte('i'), canonical
	switch {
	case p.Seed != nil:
		return *p.Seed
	case canonical != nil:
	case p.Text != nil:
		sum := sha256.Sum256([]byte(*p.Text))
		kind, value = 'p', sum[:]
	default:
		var ids []byte
		for _, id := range p.IDs {
			ids = integer(ids, uint64(id))
		}
		sum := sha256.Sum256(ids)
		kind, value = 't', sum[:]
	}
	b := integer([]byte("picogpt corpus seed 1"), seed)
	b = integer(append(b, kind), uint64(len(value)))
	sum := sha256.Sum256(append(b, value...))
	return binary.BigEndian.Uint64(sum[:]) >> 11
}
