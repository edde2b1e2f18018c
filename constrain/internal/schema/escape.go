package schema

// The escapes of JSON's strings.

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// escapeJSON returns a text as in JSON, without quotes and with only the necessary escapes.
func escapeJSON(s string) string {
	b, _ := jsontext.AppendQuote(nil, s) // invalid bytes are U+FFFD
	return string(b[1 : len(b)-1])
}

// unescapeJSON returns the characters of a string of JSON, without its quotes.
func unescapeJSON(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	b, _ := jsontext.AppendUnquote(nil, `"`+raw+`"`)
	return string(b)
}
