// Command gentables writes the tables of characters: tokenizer/properties.bin, the properties of each
// code point in the parts of Hugging Face's tokenizers library; tokenizer/internal/regex/sets.bin, the
// sets of code points that have names in its regular expressions; and tokenizer/classes.bin, the
// classes that GPT-2's pattern distinguishes. The parts use different versions of Unicode (8.0 to 17.0
// in one release), so bench/tokenizers/properties.mjs asks the library, and this command reads its
// answer:
//
//	go run ./tokenizer/internal/gentables properties.json tokenizer
//
// The layout of sets.bin is in tokenizer/internal/regex/set.go. The others have little-endian uint32s,
// ascending. That of properties.bin: pairs of a code point, and the properties of it and of all code
// points up to the next pair's (bit i is the i-th of names). That of classes.bin: code point<<2 | class
// of all code points up to the next entry's. The sets are of Unicode 16.0, as OpenAI's tiktoken has it
// (npm package 1.0.22, and any built with Rust's regex-syntax 0.8.5 or later); the tests know if not.
package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// names are in the order of the constants in tokenizer/properties.go. The library is not asked for
// the last: it normalizes by Unicode 9.0, which changes no later characters.
var names = []string{"space", "rustWord", "numeric", "bertPunctuation", "bertAccent", "bertDropped",
	"accent", "later"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gentables properties.json DIR")
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
	for name, table := range map[string][]byte{"properties.bin": table,
		"internal/regex/sets.bin": packed(whole.Sets), "classes.bin": classes(whole.Sets)} {
		if err := os.WriteFile(filepath.Join(to, name), table, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// classes returns the classes in the layout of classes.bin: 0 symbol, 1 letter, 2 number, 3 white
// space.
func classes(sets map[string][][2]rune) (table []byte) {
	var list [unicode.MaxRune + 1]uint32
	for names, set := range sets {
		class := slices.Index([]string{"l", "n", "space"}, strings.Fields(names)[0])
		for _, r := range set {
			for c := r[0]; c <= r[1] && class >= 0; c++ {
				list[c] = uint32(class + 1)
			}
		}
	}
	for c, class := range list {
		if c == 0 || class != list[c-1] {
			table = binary.LittleEndian.AppendUint32(table, uint32(c)<<2|class)
		}
	}
	return table
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
