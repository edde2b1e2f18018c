// Command genproperties writes tokenizer/properties.bin, the properties of each code point in the
// parts of Hugging Face's tokenizers library, and tokenizer/sets.bin, the sets of code points that
// have names in its regular expressions. The parts use different versions of Unicode (8.0 to 17.0
// in one release), so bench/tokenizers/properties.mjs asks the library, and this command reads its
// answer:
//
//	go run ./tokenizer/internal/genproperties properties.json tokenizer
//
// The layout of sets.bin is in tokenizer/charset.go. That of properties.bin: pairs of little-endian
// uint32s, ascending. A pair is a code point, and the properties of it and of all code points up to
// the next pair's (bit i is the i-th of names).
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// names are in the order of the constants in tokenizer/properties.go. The library is not asked for
// the last: it normalizes by Unicode 9.0, which changes no later characters.
var names = []string{"space", "rustWord", "numeric", "bertPunctuation", "bertAccent", "bertDropped",
	"accent", "later"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: genproperties properties.json DIR")
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
	var whole struct {
		Properties map[string][][2]rune
		Sets       map[string][][2]rune
	}
	if err := json.Unmarshal(b, &whole); err != nil {
		return err
	}
	answer := whole.Properties
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
	if err := os.WriteFile(filepath.Join(to, "properties.bin"), table, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "sets.bin"), packed(whole.Sets), 0o666)
}

// packed returns sets in the layout of sets.bin.
func packed(sets map[string][][2]rune) (table []byte) {
	add := func(part []byte) {
		table = append(binary.AppendUvarint(table, uint64(len(part))), part...)
	}
	for _, names := range slices.Sorted(maps.Keys(sets)) {
		var ranges []byte
		end := rune(0)
		for _, r := range sets[names] {
			ranges = binary.AppendUvarint(ranges, uint64(r[0]-end))
			ranges = binary.AppendUvarint(ranges, uint64(r[1]-r[0]+1))
			end = r[1] + 1
		}
		add([]byte(names))
		add(ranges)
	}
	return table
}
