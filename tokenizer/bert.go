// BERT's normalizer.

package tokenizer

import "golang.org/x/text/unicode/norm"

// bertNormalizer implements BertNormalizer. Its steps run in the order of the fields.
type bertNormalizer struct{ clean, chinese, accents, lower bool }

func (b bertNormalizer) normalize(p passage, track bool) passage {
	if b.clean || b.chinese {
		p = b.tidied(p, track)
	}
	if b.accents {
		p = dropping{isBertAccent}.normalize(form{norm.NFD}.normalize(p, track), track)
	}
	if b.lower {
		p = lowercase{}.normalize(p, track)
	}
	return p
}

// tidied removes what clean_text removes, turns all white space into spaces, and puts a space on
// each side of a Chinese character.
func (b bertNormalizer) tidied(p passage, track bool) passage {
	w := rewrite(p, track)
	table := propertyTable()
	for i := 0; i < len(p.text); {
		r, is, size := table.next(p.text[i:])
		switch {
		case b.clean && is&isBertDropped != 0:
			w.replace(i, i+size, "")
		case b.clean && is&isSpace != 0 && r != ' ':
			w.replace(i, i+size, " ")
		case b.chinese && r >= 0x3400 && isChinese(r):
			w.replace(i, i, " ")
			w.copyTo(i + size)
			w.replace(i+size, i+size, " ")
		}
		i += size
	}
	return w.result()
}

// isChinese reports whether BERT counts a character as Chinese. BERT does not count 2B820.
func isChinese(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0x3400 <= r && r <= 0x4DBF ||
		0x20000 <= r && r <= 0x2A6DF || 0x2A700 <= r && r <= 0x2B73F ||
		0x2B740 <= r && r <= 0x2B81F || 0x2B920 <= r && r <= 0x2CEAF ||
		0xF900 <= r && r <= 0xFAFF || 0x2F800 <= r && r <= 0x2FA1F
}
