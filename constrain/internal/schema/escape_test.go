package schema

// Escapes, against the grammar of RFC 8259.

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestOnlyWhatMustIsEscaped(t *testing.T) {
	short := map[rune]string{'"': `\"`, '\\': `\\`, '\b': `\b`, '\f': `\f`, '\n': `\n`, '\r': `\r`,
		'\t': `\t`}
	for r := range rune(0x110000) {
		want := string(r) // of a surrogate, U+FFFD
		if s, ok := short[r]; ok {
			want = s
		} else if r < 0x20 {
			want = fmt.Sprintf(`\u%04x`, r)
		}
		got := escapeJSON(string(r))
		if got != want {
			t.Errorf("%U: %s, want %s", r, got, want)
		}
		if back := unescapeJSON(got); back != string(r) {
			t.Errorf("%U: %s is read as %q", r, got, back)
		}
	}
	var back string
	if err := json.Unmarshal([]byte(`"`+escapeJSON("a\xffb")+`"`), &back); err != nil ||
		back != strings.ToValidUTF8("a\xffb", "\ufffd") {
		t.Errorf("invalid bytes: %q, %v", back, err)
	}
}
