// Command gentables writes the tables that package tokenizer embeds.
//
// Those of characters are tokenizer/properties.bin, the properties of each code point in the parts of
// Hugging Face's tokenizers library and its class in GPT-2's pattern, and
// tokenizer/internal/regex/sets.bin, the sets of code points that have names in the library's regular
// expressions. The parts use different versions of Unicode (8.0 to 17.0 in one release), so
// x/bench/tokenizers/properties.mjs asks the library, and this command reads its answer:
//
//	go run ./dev/gentables properties.json tokenizer
//
// tokenizer/r50k/r50k.bin is GPT-2's byte-level BPE in 200,256 bytes, from the ranks of OpenAI's
// r50k_base. The module github.com/pkoukk/tiktoken-go-loader has them, among 6.8 MB of other
// vocabularies, so that it is no dependency:
//
//	go mod download -json github.com/pkoukk/tiktoken-go-loader@v0.0.2 # says the folder, Dir
//	go run ./dev/gentables DIR/assets/r50k_base.tiktoken tokenizer
//
// Its layout: 256 bytes, the byte that each of the ids 0 to 255 stands for; then for each of the ids
// 256 to 50255 the two ids it is merged from, as little-endian uint16s, left before right.
//
// The layout of sets.bin is in tokenizer/internal/regex/set.go. That of properties.bin: pairs of
// little-endian uint32s, ascending. A pair is a code point, and the properties of it and of all
// code points up to the next pair's: bit i is the i-th of propertyNames, and the bits above are the
// class. The sets are of Unicode 16.0, as OpenAI's tiktoken has it (npm package 1.0.22, and any
// built with Rust's regex-syntax 0.8.5 or later); a test knows if they are not.
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

// propertyNames are in the order of the constants in tokenizer/properties.go. The library is not
// asked for the last: it normalizes by Unicode 9.0, which changes no later characters.
var propertyNames = []string{"space", "rustWord", "numeric", "bertPunctuation", "bertAccent",
	"bertDropped", "accent", "later"}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: gentables properties.json|r50k_base.tiktoken DIR")
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
	if strings.HasSuffix(from, ".tiktoken") {
		table, err := compact(b)
		if err == nil {
			err = os.WriteFile(filepath.Join(to, "r50k/r50k.bin"), table, 0o666)
		}
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
	for bit, name := range propertyNames[:len(propertyNames)-1] {
		if len(answer[name]) == 0 {
			return fmt.Errorf("%s: no answer for %s", from, name)
		}
		for _, r := range answer[name] {
			for c := r[0]; c <= r[1]; c++ {
				properties[c] |= 1 << bit
			}
		}
	}
	for names, set := range whole.Sets { // 0 symbol, 1 letter, 2 number, 3 white space
		class := 1 + slices.Index([]string{"l", "n", "space"}, strings.Fields(names)[0])
		for _, r := range set {
			for c := r[0]; c <= r[1]; c++ {
				properties[c] |= uint32(class) << len(propertyNames)
			}
		}
	}
	assigned := rangetable.Assigned("9.0.0")
	var table []byte
	for c := range properties {
		if !unicode.Is(assigned, rune(c)) {
			properties[c] |= 1 << (len(propertyNames) - 1)
		}
		if c == 0 || properties[c] != properties[c-1] {
			table = binary.LittleEndian.AppendUint32(table, uint32(c))
			table = binary.LittleEndian.AppendUint32(table, properties[c])
		}
	}
	if err := os.WriteFile(filepath.Join(to, "properties.bin"), table, 0o666); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "internal/regex/sets.bin"), packed(whole.Sets), 0o666)
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
