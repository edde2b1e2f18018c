package show

// Bytes that a vocabulary has no token for.

import (
	"fmt"
	"strconv"
	"strings"

	"picogpt/internal/quote"
	"picogpt/tokenizer"
)

// Missing says which bytes a vocabulary has no token for, and what becomes of them in texts; "" if
// there are none. It lists the first so many ranges of bytes; 0 lists all.
func Missing(t *tokenizer.Tokenizer, most int) string {
	missing, unknown := t.Missing()
	if len(missing) == 0 {
		return ""
	}
	fate := "texts lose them"
	if token, err := t.Text(unknown); err == nil {
		fate = "in texts each becomes " + quote.Plain(token, 40)
	}
	list := byteRanges(missing)
	if most > 0 && len(list) > most {
		list = append(list[:most:most], fmt.Sprintf("and %d more", len(list)-most))
	}
	return fmt.Sprintf("no token for %s of 256, and %s: %s", quote.Count(len(missing), "byte"), fate,
		strings.Join(list, ", "))
}

// byteRanges names bytes, which ascend: "<", 0x7f, 0xc0-0xc3.
func byteRanges(list []byte) (names []string) {
	for i := 0; i < len(list); {
		last := i
		for last+1 < len(list) && list[last+1] == list[last]+1 &&
			isPrinted(list[last+1]) == isPrinted(list[i]) {
			last++
		}
		if last == i {
			names = append(names, byteName(list[i]))
		} else {
			names = append(names, byteName(list[i])+"-"+byteName(list[last]))
		}
		i = last + 1
	}
	return names
}

func isPrinted(b byte) bool { return ' ' <= b && b < 0x7f }

// byteName names a byte: as it is printed, or by its value.
func byteName(b byte) string {
	if isPrinted(b) {
		return strconv.Quote(string(rune(b)))
	}
	return fmt.Sprintf("0x%02x", b)
}
