// Package r50k holds GPT-2's own vocabulary as data, without any code that uses it: the packages
// tokenizer and reference read it independently of each other.
package r50k

import _ "embed"

// r50k.bin is written by dev/gentables from the ranks of OpenAI's r50k_base.
//
//go:embed r50k.bin
var table string

// Table returns 256 bytes, the byte that each of the ids 0 to 255 stands for, and then, for each of
// the ids 256 to 50255, the two ids that it is merged from: little-endian uint16s, left before
// right. Id 50256 is <|endoftext|>.
func Table() string { return table }
