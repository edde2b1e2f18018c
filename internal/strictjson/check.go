package strictjson

// Check: what encoding/json lets pass, at any depth.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"unicode/utf16"
)

// Check refuses, in valid JSON, what encoding/json would change in silence: a key
// that comes twice in an object, of which the last would count, and half of a
// surrogate pair, which would become U+FFFD.
func Check(text []byte) error {
	if s := loneSurrogate(text); s != "" {
		return fmt.Errorf("%s is a lone surrogate, which is no character", s)
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	type level struct {
		keys map[string]bool // nil in an array
		odd  bool            // a value is next
	}
	var open []level
	for {
		t, err := dec.Token()
		if err == io.EOF && len(open) == 0 {
			return nil
		} else if err != nil {
			return invalid(err)
		}
		in := len(open) - 1
		if key, ok := t.(string); ok && in >= 0 && open[in].keys != nil && !open[in].odd {
			if open[in].keys[key] {
				return fmt.Errorf("%s comes twice", Quote([]byte(key), 80))
			}
			open[in].keys[key] = true
			open[in].odd = true
			continue
		}
		switch t {
		case json.Delim('}'), json.Delim(']'):
			open = open[:in]
			continue
		}
		if in >= 0 {
			open[in].odd = false // this is the value
		}
		switch t {
		case json.Delim('{'):
			open = append(open, level{keys: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		}
	}
}

// loneSurrogate returns the first escape in valid JSON that is half of a pair without the other
// half, or "".
func loneSurrogate(text []byte) string {
	for {
		i := bytes.IndexByte(text, '\\')
		if i < 0 {
			return ""
		}
		text = text[i:]
		r, n := escape(text)
		if utf16.IsSurrogate(r) {
			second, m := escape(text[n:])
			if utf16.DecodeRune(r, second) == '\uFFFD' {
				return string(text[:n])
			}
			n += m
		}
		text = text[max(n, 1):] // 0 where the text ends too early
	}
}

// escape returns the code unit of the \u escape that text begins with, and its length. Another
// escape is 0 and 2 long; where there is none, 0 and 0.
func escape(text []byte) (r rune, n int) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, 0
	}
	if text[1] != 'u' || len(text) < 6 {
		return 0, 2
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil {
		return 0, 2
	}
	return rune(unit), 6
}
