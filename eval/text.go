package eval

// From bytes to documents of tokens, by the rules of each protocol's publisher.

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strings"
	"unicode"
)

// An Encoder turns text into ids. *tokenizer.Tokenizer implements it.
type Encoder interface {
	Encode(text string) ([]int, error) // any bytes, valid UTF-8 or not
}

// A Document is one text for a protocol. Words and Bytes are those of the original text before any
// detokenizing, with what the vocabulary has no token for; 0 if not known.
type Document struct {
	Tokens       []int
	Words, Bytes int
}

// A Text is a text to be measured: one or more documents.
type Text struct {
	Documents []Document
	SHA256    string // of the original bytes, in hexadecimal; "" if they are not known
}

// NewText encodes files, byte for byte. For LMEval each file is a document; for the other protocols
// all files together are one text.
func NewText(p Protocol, e Encoder, files ...string) (Text, error) {
	if p != LMEval {
		files = []string{strings.Join(files, "")}
	}
	t := Text{SHA256: digest(files)}
	for _, f := range files {
		d, err := NewDocument(e, f)
		if err != nil {
			return Text{}, err
		}
		t.Documents = append(t.Documents, d)
	}
	return t, nil
}

// NewDocument encodes one text, byte for byte, as NewText does a file for LMEval. MeasureEach takes
// such documents.
func NewDocument(e Encoder, text string) (Document, error) { return document(e, text, text) }

// NewWikiPage encodes a page of raw WikiText, from WikiPages, after detokenizing it, as NewWikiText
// does for LMEval.
func NewWikiPage(e Encoder, page string) (Document, error) {
	return document(e, wikiDetokenize(page), page)
}

// document encodes text. Words and Bytes are those of original.
func document(e Encoder, text, original string) (Document, error) {
	ids, err := e.Encode(text)
	return Document{ids, words(original), len(original)}, err
}

// NewWikiText encodes raw WikiText files as the protocol's publisher does. For HF it takes the
// lines of the datasets library, joined by two line feeds: a blank line is "", every other has its
// line feed. For LMEval it takes pages and detokenizes them. For LlamaCpp it takes the bytes
// unchanged.
func NewWikiText(p Protocol, e Encoder, files ...string) (Text, error) {
	t := Text{SHA256: digest(files)}
	switch p {
	case LMEval:
		for _, f := range files {
			for _, page := range WikiPages(f) {
				d, err := NewWikiPage(e, page)
				if err != nil {
					return Text{}, err
				}
				t.Documents = append(t.Documents, d)
			}
		}
		return t, nil
	case LlamaCpp:
		return NewText(p, e, files...)
	}
	all := strings.Join(files, "")
	d, err := document(e, wikiLines(newlines(all)), all)
	t.Documents = []Document{d}
	return t, err
}

// NewTokens returns a text that is given as ids. If t is not nil and knows all of them, the text's
// words, bytes and SHA-256 are those of the bytes that the ids stand for.
func NewTokens(ids []int, t Tokenizer) Text {
	d := Document{Tokens: ids}
	unknown := Text{Documents: []Document{d}}
	if t == nil {
		return unknown
	}
	text, _, err := t.DecodeSpans(ids)
	if err != nil {
		return unknown
	}
	d.Words, d.Bytes = words(text), len(text)
	return Text{Documents: []Document{d}, SHA256: digest([]string{text})}
}

func digest(files []string) string {
	h := sha256.New()
	for _, f := range files {
		for len(f) > 0 { // in parts, without a copy of the whole
			n := min(len(f), 1<<16)
			h.Write([]byte(f[:n]))
			f = f[n:]
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// newlines replaces "\r\n" and "\r" by "\n", as Python does in files that it reads as text.
func newlines(s string) string {
	if !strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(strings.ReplaceAll(s, "\r\n", "\n"), "\r", "\n")
}

// space reports whether Python's \s matches r: Unicode white space and the four separators U+001C
// to U+001F.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

// words returns len(re.split(r"\s+", s)): the number of runs of white space plus one, so that white
// space at an end makes an empty word.
func words(s string) int {
	n, inside := 1, false
	for _, r := range s {
		is := space(r)
		if is && !inside {
			n++
		}
		inside = is
	}
	return n
}

// wikiLines returns "\n\n".join(lines) for the lines of the datasets library's wikitext.
func wikiLines(s string) string {
	var b strings.Builder
	b.Grow(len(s) + len(s)/64)
	first := true
	for line := range strings.Lines(s) {
		if !first {
			b.WriteString("\n\n")
		}
		first = false
		if strings.TrimFunc(line, space) != "" {
			b.WriteString(line)
		}
	}
	return b.String()
}

// WikiPages divides a raw WikiText file before each level-one heading, " = Title = ", as the
// dataset wikitext_document_level does. It yields each page with the number of its first line, from
// 1. The line feed before a heading belongs to no page. A page of white space is left out unless it
// is the last one. Lines end with "\n", "\r\n" or "\r", as in Python; in the pages they end with
// "\n".
func WikiPages(file string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		s := newlines(file)
		start, first := 0, 1 // byte and line where the page begins
		for at, line := 0, 1; at <= len(s); line++ {
			end := strings.IndexByte(s[at:], '\n')
			if end < 0 {
				end = len(s) - at
			}
			if at > 0 && heading(s[at:at+end]) {
				page := s[start : at-1]
				if strings.TrimFunc(page, space) != "" && !yield(first, page) {
					return
				}
				start, first = at, line
			}
			at += end + 1
		}
		yield(first, s[start:])
	}
}

// heading reports whether a line is a level-one heading: "= … =", and not "= = … = =".
func heading(line string) bool {
	line = strings.ReplaceAll(strings.ReplaceAll(line, "= = =", "==="), "= =", "==")
	line = strings.TrimFunc(line, space)
	return strings.HasPrefix(line, "= ") && strings.HasSuffix(line, " =")
}

// wikiDetokenize undoes WikiText's word-level tokens, by the rules of lm_eval's preprocess_wikitext
// and in their order.
func wikiDetokenize(s string) string {
	s = replace(s, "s '", "s'",
		" @-@ ", "-", " @,@ ", ",", " @.@ ", ".",
		" : ", ": ", " ; ", "; ", " . ", ". ", " ! ", "! ", " ? ", "? ", " , ", ", ")
	for _, pair := range []string{"()", "[]", "{}", `""`, "''"} {
		s = tighten(s, pair[0], pair[1])
	}
	return replace(s, "= = = =", "====", "= = =", "===", "= =", "==",
		" ° ", "°", " \n", "\n", "\n ", "\n", " N ", " 1 ", " 's", "'s")
}

// replace makes the replacements one after another.
func replace(s string, pairs ...string) string {
	for i := 0; i < len(pairs); i += 2 {
		s = strings.ReplaceAll(s, pairs[i], pairs[i+1])
	}
	return s
}

// tighten removes the white space just inside each pair of marks. A pair is an opening mark and the
// next closing one, with anything between them.
func tighten(s string, open, close byte) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, open)
		if i < 0 {
			break
		}
		n := strings.IndexByte(s[i+1:], close)
		if n < 0 {
			break
		}
		b.WriteString(s[:i+1])
		b.WriteString(strings.TrimFunc(s[i+1:i+1+n], space))
		b.WriteByte(close)
		s = s[i+1+n+1:]
	}
	b.WriteString(s)
	return b.String()
}
