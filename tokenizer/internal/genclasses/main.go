// Command genclasses writes tokenizer/classes.bin, the classes that GPT-2's pattern distinguishes,
// for all code points of Unicode 16.0. OpenAI's tiktoken uses that version (npm package 1.0.22, and
// any built with Rust's regex-syntax 0.8.5 or later). It needs no network: Go 1.26 has the tables
// of Unicode 15.0, and what 15.1 and 16.0 added is listed here.
//
//	go run ./tokenizer/internal/genclasses tokenizer/classes.bin
//
// The layout: little-endian uint32s, code point<<2 | class, ascending. The class (0 symbol, 1
// letter, 2 number, 3 white space) is that of all code points up to the next entry's.
package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"unicode"
)

const (
	letter = 1
	number = 2
	space  = 3
)

// later holds the letters and numbers of Unicode 15.1 (the last range, CJK extension I) and 16.0.
var later = []struct {
	first, last rune
	class       uint32
}{
	{0x1C89, 0x1C8A, letter},
	{0xA7CB, 0xA7CD, letter},
	{0xA7DA, 0xA7DC, letter},
	{0x105C0, 0x105F3, letter},
	{0x10D40, 0x10D49, number},
	{0x10D4A, 0x10D65, letter},
	{0x10D6F, 0x10D85, letter},
	{0x10EC2, 0x10EC4, letter},
	{0x11380, 0x11389, letter},
	{0x1138B, 0x1138B, letter},
	{0x1138E, 0x1138E, letter},
	{0x11390, 0x113B5, letter},
	{0x113B7, 0x113B7, letter},
	{0x113D1, 0x113D1, letter},
	{0x113D3, 0x113D3, letter},
	{0x116D0, 0x116E3, number},
	{0x11BC0, 0x11BE0, letter},
	{0x11BF0, 0x11BF9, number},
	{0x13460, 0x143FA, letter},
	{0x16100, 0x1611D, letter},
	{0x16130, 0x16139, number},
	{0x16D40, 0x16D6C, letter},
	{0x16D70, 0x16D79, number},
	{0x18CFF, 0x18CFF, letter},
	{0x1CCF0, 0x1CCF9, number},
	{0x1E5D0, 0x1E5ED, letter},
	{0x1E5F0, 0x1E5F0, letter},
	{0x1E5F1, 0x1E5FA, number},
	{0x2EBF0, 0x2EE5D, letter},
}

func main() {
	if len(os.Args) != 2 || unicode.Version != "15.0.0" {
		fmt.Fprintf(os.Stderr, "usage: genclasses FILE, with Go's Unicode tables at 15.0.0; they are at %s\n", unicode.Version)
		os.Exit(2)
	}
	var table []byte
	previous := uint32(0xff)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if class := classOf(r); class != previous {
			table = binary.LittleEndian.AppendUint32(table, uint32(r)<<2|class)
			previous = class
		}
	}
	if err := os.WriteFile(os.Args[1], table, 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "genclasses:", err)
		os.Exit(1)
	}
}

func classOf(r rune) uint32 {
	switch {
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	for _, added := range later {
		if added.first <= r && r <= added.last {
			return added.class
		}
	}
	return 0
}
