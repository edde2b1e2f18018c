// Pre-tokenizers split a text before the model reads it, most of them at the matches of a pattern.

package tokenizer

import (
	"strings"
	"unicode/utf8"

	"picogpt/tokenizer/internal/regex"
)

// A splitter is a pre-tokenizer: it calls emit for each part of a passage, in order. With track,
// the parts know their origin.
type splitter interface {
	split(p passage, track bool, emit func(passage) error) error
}

// patternSplitter splits at the matches of a pattern: Split, Digits, Punctuation and others.
type patternSplitter struct {
	pattern  pattern
	behavior behavior
	invert   bool
}

// A behavior says what happens to the matches of a pattern.
type behavior int

const (
	isolated   behavior = iota // each match is a part
	removed                    // matches are removed
	contiguous                 // neighbouring matches are one part
	withBefore                 // MergedWithPrevious: a match belongs to the part before it
	withNext                   // MergedWithNext: a match belongs to the part after it
)

// behaviors are the names of behaviors in files.
var behaviors = []string{"Isolated", "Removed", "Contiguous", "MergedWithPrevious",
	"MergedWithNext"}

func (s patternSplitter) split(p passage, track bool, emit func(passage) error) (err error) {
	j := joiner{patternSplitter: s, emit: func(from, to int) {
		if err == nil && from < to {
			err = emit(p.slice(from, to))
		}
	}}
	done := 0
	failed := s.pattern.matches(p, func(from, to int) {
		if done < from {
			j.add(done, from, s.invert)
		}
		j.add(from, to, !s.invert)
		done = to
	})
	if failed != nil {
		return failed
	}
	if done < len(p.text) {
		j.add(done, len(p.text), s.invert)
	}
	if j.open {
		j.emit(j.from, j.to)
	}
	return err
}

// A joiner joins matches and the text between them to parts.
type joiner struct {
	patternSplitter
	emit     func(from, to int)
	from, to int  // a part that may grow
	open     bool // the part may still grow
	match    bool // the last piece of it is a match
}

func (j *joiner) add(from, to int, match bool) {
	join := false
	switch j.behavior {
	case isolated:
	case removed:
		if match {
			return
		}
	case contiguous:
		join = match == j.match
	case withBefore:
		join = match && !j.match
	case withNext: // of neighbouring matches only the last one is joined
		join = !match && j.match
	}
	j.match = match
	if join && j.open {
		j.to = to
		return
	}
	if j.open {
		j.emit(j.from, j.to)
	}
	j.from, j.to, j.open = from, to, true
}

// words implements Whitespace, WhitespaceSplit and BertPreTokenizer in one pass: white space is
// removed, and the text between is divided by the properties of its characters.
type words struct {
	// characters that form parts with each other, and those that are each a part; the remaining
	// characters form parts with each other too
	joined, single property
}

func (s words) split(p passage, track bool, emit func(passage) error) error {
	table := propertyTable()
	from, kind := 0, property(0) // start and kind of the current part
	for i := 0; i < len(p.text); {
		_, is, size := table.next(p.text[i:])
		now := is & s.joined
		alone := is&s.single != 0
		if (is&isSpace != 0 || alone || now != kind) && from < i {
			if err := emit(p.slice(from, i)); err != nil {
				return err
			}
			from = i
		}
		kind = now
		i += size
		if alone && is&isSpace == 0 {
			if err := emit(p.slice(from, i)); err != nil {
				return err
			}
		}
		if alone || is&isSpace != 0 {
			from = i
		}
	}
	if from < len(p.text) {
		return emit(p.slice(from, len(p.text)))
	}
	return nil
}

// metaspace implements Metaspace: spaces become a mark, a mark is put before the text, and words
// begin with marks.
type metaspace struct {
	mark   string
	scheme prepending
	cut    bool
}

// prepending says where metaspace puts a mark before a text.
type prepending int

const (
	always prepending = iota
	first             // only at the beginning of the whole text
	never
)

func (s metaspace) split(p passage, track bool, emit func(passage) error) error {
	w := rewrite(p, track)
	begins := strings.HasPrefix(p.text, s.mark) || strings.HasPrefix(p.text, " ")
	if !begins && (s.scheme == always || s.scheme == first && p.at == 0) {
		w.replace(0, 0, s.mark)
	}
	for i := range len(p.text) {
		if p.text[i] == ' ' {
			w.replace(i, i+1, s.mark)
		}
	}
	p = w.result()
	if !s.cut {
		return emit(p)
	}
	for from := 0; from < len(p.text); {
		_, size := utf8.DecodeRuneInString(p.text[from:])
		to := len(p.text)
		if next := strings.Index(p.text[from+size:], s.mark); next >= 0 {
			to = from + size + next
		}
		if err := emit(p.slice(from, to)); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// levelSplitter implements ByteLevel: GPT-2's pattern, and then each byte in the byte alphabet. For
// a model that reads bytes, the bytes are unchanged.
type levelSplitter struct {
	splitting
	alphabet *byteAlphabet // nil: bytes are unchanged
}

func (s levelSplitter) split(p passage, track bool, emit func(passage) error) error {
	if s.prefixSpace && p.text[0] != ' ' {
		w := rewrite(p, track)
		w.replace(0, 0, " ")
		p = w.result()
	}
	for from := 0; from < len(p.text); {
		to := len(p.text)
		if !s.whole {
			to = from + pieceLen(p.text[from:])
		}
		part := p.slice(from, to)
		if s.alphabet != nil {
			part = s.alphabet.normalize(part, track)
		}
		if err := emit(part); err != nil {
			return err
		}
		from = to
	}
	return nil
}

// chain applies all splitters to a passage, the first one first, and calls emit for each resulting
// part.
func chain(splitters []splitter, p passage, track bool, emit func(passage) error) error {
	if err := p.bound.work(workPart + len(p.text)); err != nil || p.text == "" {
		return err
	}
	if len(splitters) == 0 {
		return emit(p)
	}
	return splitters[0].split(p, track, func(part passage) error {
		return chain(splitters[1:], part, track, emit)
	})
}

// A pattern finds its matches in a text, from left to right and without overlap.
type pattern interface {
	matches(p passage, match func(from, to int)) error
}

// literal matches a text, which is not empty, literally.
type literal string

func (l literal) matches(p passage, match func(from, to int)) error {
	for at := 0; ; at += len(l) {
		next := strings.Index(p.text[at:], string(l))
		if next < 0 {
			return nil
		}
		at += next
		match(at, at+len(l))
	}
}

// everywhere is the empty pattern: it matches before each character and at the end of a text that
// is not empty.
type everywhere struct{}

func (everywhere) matches(p passage, match func(from, to int)) error {
	for i := range p.text {
		match(i, i)
	}
	if n := len(p.text); n > 0 {
		match(n, n)
	}
	return nil
}

// A scan is a pattern that cuts a text into parts, and says of each whether it matches.
type scan struct {
	next func(text string) (size int, is bool)
}

func (s *scan) matches(p passage, match func(from, to int)) error {
	for i := 0; i < len(p.text); {
		size, is := s.next(p.text[i:])
		if is {
			match(i, i+size)
		}
		i += size
	}
	return nil
}

// single matches each character with a property by itself.
func single(what property) *scan {
	return &scan{func(text string) (int, bool) {
		_, is, size := propertyTable().next(text)
		return size, is&what != 0
	}}
}

var (
	// gpt2Pieces is GPT-2's pattern; every piece is a match.
	gpt2Pieces = &scan{func(text string) (int, bool) { return pieceLen(text), true }}
	// everyCharacter matches each character by itself: [\s\S].
	everyCharacter = &scan{func(text string) (int, bool) {
		_, size := utf8.DecodeRuneInString(text)
		return size, true
	}}
)

// regexPattern matches a regular expression.
type regexPattern struct{ *regex.Regex }

func (r regexPattern) matches(p passage, match func(from, to int)) error {
	return r.Matches(p.text, p.bound.work, match)
}

// newRegex compiles a regular expression. Unsupported syntax is an error that names it.
func newRegex(text string) (pattern, error) {
	switch text {
	case gpt2Pattern, gpt2PatternShort:
		return gpt2Pieces, nil
	case `[\s\S]`:
		return everyCharacter, nil
	case "":
		return everywhere{}, nil
	}
	r, err := regex.Compile(text)
	return regexPattern{r}, err
}
