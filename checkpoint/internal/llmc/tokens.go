package llmc

// The list of tokens, gpt2_tokenizer.bin.

import (
	"encoding/binary"
	"fmt"

	"picogpt/internal/quote"
)

// Tokens checks a list of tokens and returns the bytes of each id, and the id that ends a text, or
// -1 if the file does not say it. Files of version 1 do not; llm.c assumes GPT-2's.
func Tokens(b []byte) (list [][]byte, endOfText int, err error) {
	if len(b) < header {
		return nil, 0, fmt.Errorf("%d bytes, too short for llm.c's tokens", len(b))
	}
	if n := binary.LittleEndian.Uint32(b); n != tokenMagic {
		return nil, 0, fmt.Errorf("begins with %s, want llm.c's number %d",
			quote.Short(string(b[:8]), 8), tokenMagic)
	}
	version, n := binary.LittleEndian.Uint32(b[4:]), binary.LittleEndian.Uint32(b[8:])
	rest := b[header:]
	if int64(n) > int64(len(rest)) { // each has at least the byte of its length
		return nil, 0, fmt.Errorf("%d tokens, but only %d bytes follow: truncated?", n, len(rest))
	}
	switch end := binary.LittleEndian.Uint32(b[12:]); {
	case version == 1 && n == 50257:
		endOfText = 50256
	case version == 1:
		endOfText = -1
	case version != 2:
		return nil, 0, fmt.Errorf("version %d of llm.c's tokens, want 1 or 2", version)
	case end >= n:
		return nil, 0, fmt.Errorf("end-of-text token %d, want one of %d", end, n)
	default:
		endOfText = int(end)
	}
	list = make([][]byte, n)
	for i := range list {
		if len(rest) == 0 || int(rest[0]) > len(rest)-1 {
			return nil, 0, fmt.Errorf("token %d: longer than the file: truncated?", i)
		}
		size := int(rest[0])
		list[i], rest = rest[1:1+size], rest[1+size:]
	}
	if len(rest) > 0 {
		return nil, 0, fmt.Errorf("%d bytes after the last token, want none", len(rest))
	}
	return list, endOfText, nil
}
