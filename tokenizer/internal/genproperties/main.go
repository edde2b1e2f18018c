// Command genproperties writes tokenizer/properties.bin: the properties of each code point in the
// parts of Hugging Face's tokenizers library. They use different versions of Unicode (8.0 to 17.0
// in one release), so bench/tokenizers/properties.mjs asks the library, and this command reads its
// answer:
//
//	go run ./tokenizer/internal/genproperties properties.json tokenizer/properties.bin
//
// The layout: pairs of little-endian uint32s, ascending. A pair is a code point, and the properties
// of it and of all code points up to the next pair's (bit i is the i-th of names).
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// names are in the order of the constants in tokenizer/properties.go. The library is not asked for
// the last: it normalizes by Unicode 9.0, which changes no later characters.
var names = []string{"letter", "number", "punctuation", "mark", "symbol", "upper", "lower", "space",
	"word", "setWord", "digit", "rustWord", "numeric", "bertPunctuation", "bertAccent", "bertDropped",
	"accent", "later"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: genproperties properties.json properties.bin")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var answer map[string][][2]rune
	if err := json.Unmarshal(b, &answer); err != nil {
		return err
	}
	properties := make([]uint32, unicode.MaxRune+1)
	for bit, name := range names[:len(names)-1] {
		if len(answer[name]) == 0 {
			return fmt.Errorf("%s: no answer for %s", from, name)
		}
		for _, r := range answer[name] {
			for c := r[0]; c <= r[1]; c++ {
				properties[c] |= 1 << bit
			}
		}
	}
	assigned := rangetable.Assigned("9.0.0")
	var table []byte
	for c := range properties {
		if !unicode.Is(assigned, rune(c)) {
			properties[c] |= 1 << (len(names) - 1)
		}
		if c == 0 || properties[c] != properties[c-1] {
			table = binary.LittleEndian.AppendUint32(table, uint32(c))
			table = binary.LittleEndian.AppendUint32(table, properties[c])
		}
	}
	return os.WriteFile(to, table, 0o666)
}
