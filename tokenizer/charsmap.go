// sentencepiece's normalization rules: texts and their replacements, precompiled to a double-array
// trie (Aoe 1989, as Darts-clone stores it). A spiece.model has these bytes, and a tokenizer.json
// has them in base64; the two readers apply them differently.

package tokenizer

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// A charsmap is a set of rules.
type charsmap struct {
	units []uint32 // of the trie
	texts string   // the replacements, each ended by NUL
}

// newCharsmap reads rules: the length of the trie in bytes, the trie, the texts.
func newCharsmap(rules []byte) (*charsmap, error) {
	if len(rules) < 4 {
		return nil, errors.New("rules of less than 4 bytes")
	}
	size, rest := int64(binary.LittleEndian.Uint32(rules)), rules[4:]
	if size%4 != 0 || size == 0 || size > int64(len(rest)) {
		return nil, fmt.Errorf("a trie of %d bytes in rules of %d", size, len(rules))
	}
	m := &charsmap{units: make([]uint32, size/4), texts: string(rest[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	if !utf8.ValidString(m.texts) {
		return nil, errors.New("texts that are not valid UTF-8")
	}
	return m, nil
}

// find returns the replacement of the shortest beginning of s that has a rule, or of the longest,
// and the length of that beginning; 0 if there is none.
func (m *charsmap) find(s string, longest bool) (text string, length int) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || int64(at) >= int64(len(m.units)) || m.units[at]&(1<<31|0xff) != uint32(s[i]) {
			break
		}
		leaf := m.units[at]&(1<<8) != 0
		at ^= offset(m.units[at])
		if !leaf || int64(at) >= int64(len(m.units)) {
			continue
		}
		if from := int64(m.units[at] & (1<<31 - 1)); from < int64(len(m.texts)) {
			text, _, _ = strings.Cut(m.texts[from:], "\x00")
			length = i + 1
			if !longest {
				break
			}
		}
	}
	return text, length
}

// clusterRules implements Precompiled, as in Hugging Face's library. If a rule matches the
// beginning of a grapheme cluster of less than 6 bytes, its text replaces the whole cluster;
// otherwise the rules apply to single characters.
type clusterRules struct{ *charsmap }

func (c clusterRules) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	state := -1
	rest, at := p.text, 0
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(cluster) < 6 {
			if text, n := c.find(cluster, false); n > 0 {
				w.replace(at, at+len(cluster), text)
				at += len(cluster)
				continue
			}
		}
		for cluster != "" {
			_, size := utf8.DecodeRuneInString(cluster)
			if text, n := c.find(cluster[:size], false); n > 0 {
				w.replace(at, at+size, text)
			}
			cluster = cluster[size:]
			at += size
		}
	}
	return w.result()
}

// pieceRules is sentencepiece's own normalizer: the longest rule at each position, then the rules
// for spaces.
type pieceRules struct {
	rules  *charsmap   // nil if there are none
	user   *prefixTree // pieces that no rule may change
	prefix bool        // a space is put before the text
	suffix bool        // a space is put after the text
	tidy   bool        // remove spaces at the ends, and join others to one
	escape bool        // spaces become ▁
}

// next returns the replacement of the beginning of s, and the length of that beginning.
func (n *pieceRules) next(s string) (text string, length int) {
	if _, length = n.user.longest(s); length > 0 {
		return s[:length], length
	}
	if n.rules != nil {
		if text, length = n.rules.find(s, true); length > 0 {
			return text, length
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return "\uFFFD", 1
	}
	return s[:size], size
}

func (n *pieceRules) normalize(p passage, track bool) passage {
	at := 0
	for n.tidy && at < len(p.text) {
		text, size := n.next(p.text[at:])
		if text != " " {
			break
		}
		at += size
	}
	if at == len(p.text) {
		return p.slice(at, at)
	}
	space := " "
	if n.escape {
		space = "▁"
	}
	w := rewrite(p, track)
	w.replace(0, at, "")
	if n.prefix {
		w.replace(at, at, space)
	}
	afterSpace := n.tidy
	for at < len(p.text) {
		text, size := n.next(p.text[at:])
		if afterSpace {
			text = strings.TrimLeft(text, " ")
		}
		if text != "" {
			afterSpace = n.tidy && strings.HasSuffix(text, " ")
		}
		if n.escape {
			text = strings.ReplaceAll(text, " ", space)
		}
		if text != p.text[at:at+size] {
			w.replace(at, at+size, text)
		}
		at += size
	}
	p = w.result()
	for n.tidy && strings.HasSuffix(p.text, space) {
		p = p.slice(0, len(p.text)-len(space))
	}
	if n.suffix {
		w := rewrite(p, track)
		w.replace(len(p.text), len(p.text), space)
		p = w.result()
	}
	return p
}
