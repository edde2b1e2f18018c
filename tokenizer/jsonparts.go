// Normalizers, pre-tokenizers and decoders of a tokenizer.json. Unknown components are refused by
// name.

package tokenizer

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// unknownType returns the error for an unknown component.
func unknownType(c *component, known ...string) error {
	return fmt.Errorf("%s: not supported, want %s", quote.Plain(c.kind, 60),
		strings.Join(known, ", "))
}

// readNormalizers reads the member normalizer.
func readNormalizers(value *strictjson.Reader) (list []normalizer, err error) {
	steps, err := readSteps(value)
	for _, step := range steps {
		var n normalizer
		if err == nil {
			n, err = newNormalizer(&step)
		}
		list = append(list, n)
	}
	if err != nil {
		return nil, fmt.Errorf("normalizer: %w", err)
	}
	return list, nil
}

func newNormalizer(c *component) (normalizer, error) {
	switch c.kind {
	case "NFC":
		return form{norm.NFC}, nil
	case "NFD":
		return form{norm.NFD}, nil
	case "NFKC":
		return form{norm.NFKC}, nil
	case "NFKD":
		return form{norm.NFKD}, nil
	case "Lowercase":
		return lowercase{}, nil
	case "StripAccents":
		return dropping{isAccent}, nil
	case "Nmt":
		return nmt{}, nil
	case "ByteLevel":
		return newByteAlphabet(), nil
	case "Strip":
		s := strip{true, true}
		err := c.bool("strip_left", &s.left)
		if err == nil {
			err = c.bool("strip_right", &s.right)
		}
		return s, err
	case "Prepend":
		text := ""
		err := c.text("prepend", &text)
		return prepend(text), err
	case "Replace":
		r := replacing{}
		err := c.text("content", &r.with)
		if err == nil {
			r.pattern, err = c.pattern()
		}
		return r, err
	case "Precompiled":
		text := ""
		if err := c.text("precompiled_charsmap", &text); err != nil || text == "" {
			return strip{}, err // which changes nothing
		}
		rules, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return nil, c.failed("precompiled_charsmap", err)
		}
		m, err := newCharsmap(rules)
		return clusterRules{m}, c.failed("precompiled_charsmap", err)
	case "BertNormalizer":
		return newBertNormalizer(c)
	}
	return nil, unknownType(c, "NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents",
		"Replace", "Prepend", "Nmt", "Precompiled", "BertNormalizer", "ByteLevel", "Sequence")
}

func newBertNormalizer(c *component) (normalizer, error) {
	b := bertNormalizer{clean: true, chinese: true, lower: true}
	for _, option := range []struct {
		name string
		to   *bool
	}{{"clean_text", &b.clean}, {"handle_chinese_chars", &b.chinese}, {"lowercase", &b.lower}} {
		if err := c.bool(option.name, option.to); err != nil {
			return nil, err
		}
	}
	b.accents = b.lower
	return b, c.bool("strip_accents", &b.accents)
}

// readSplitters reads the member pre_tokenizer.
func readSplitters(value *strictjson.Reader) (list []splitter, err error) {
	steps, err := readSteps(value)
	for _, step := range steps {
		var s splitter
		if err == nil {
			s, err = newSplitter(&step)
		}
		list = append(list, s)
	}
	if err != nil {
		return nil, fmt.Errorf("pre_tokenizer: %w", err)
	}
	return list, nil
}

func newSplitter(c *component) (splitter, error) {
	switch c.kind {
	case "ByteLevel":
		prefixed, regex := false, true
		err := c.bool("add_prefix_space", &prefixed)
		if err == nil {
			err = c.bool("use_regex", &regex)
		}
		return levelSplitter{splitting{whole: !regex, prefixSpace: prefixed}, newByteAlphabet()}, err
	case "Digits":
		alone := false
		err := c.bool("individual_digits", &alone)
		s := patternSplitter{pattern: single(isNumeric), behavior: contiguous}
		if alone {
			s.behavior = isolated
		}
		return s, err
	case "Punctuation":
		behavior, err := c.behavior()
		return patternSplitter{pattern: single(isBertPunctuation), behavior: behavior}, err
	case "Split":
		p, err := c.pattern()
		s := patternSplitter{pattern: p}
		if err == nil {
			s.behavior, err = c.behavior()
		}
		if err == nil {
			err = c.bool("invert", &s.invert)
		}
		return s, err
	case "CharDelimiterSplit":
		text := ""
		err := c.character("delimiter", &text)
		return patternSplitter{pattern: literal(text), behavior: removed}, err
	case "Whitespace":
		return words{joined: isAddedWord}, nil
	case "WhitespaceSplit":
		return words{}, nil
	case "BertPreTokenizer":
		return words{single: isBertPunctuation}, nil
	case "Metaspace":
		return newMetaspace(c)
	}
	return nil, unknownType(c, "ByteLevel", "Split", "Digits", "Punctuation", "Whitespace",
		"WhitespaceSplit", "CharDelimiterSplit", "BertPreTokenizer", "Metaspace", "Sequence")
}

// behavior reads the member behavior.
func (c *component) behavior() (behavior, error) {
	name := ""
	if err := c.text("behavior", &name); err != nil {
		return 0, err
	}
	b, err := behaviorOf(name)
	return b, c.failed("behavior", err)
}

// newMetaspace reads a Metaspace, which may be a pre-tokenizer or a decoder.
func newMetaspace(c *component) (metaspace, error) {
	m := metaspace{mark: "▁", cut: true}
	if err := c.character("replacement", &m.mark); err != nil {
		return m, err
	}
	if err := c.bool("split", &m.cut); err != nil {
		return m, err
	}
	prefixed, scheme := true, "always"
	if err := c.bool("add_prefix_space", &prefixed); err != nil {
		return m, err
	}
	if !prefixed {
		scheme = "never"
	}
	if err := c.text("prepend_scheme", &scheme); err != nil {
		return m, err
	}
	at := slices.Index([]string{"always", "first", "never"}, scheme)
	if m.scheme = prepending(at); at < 0 {
		return m, c.failed("prepend_scheme", fmt.Errorf("%s: not supported, "+
			"want always, first or never", quote.Short(scheme, 60)))
	}
	return m, nil
}

// checkPostProcessor refuses a post-processor unless it is known only to add tokens that a caller
// has asked for.
func checkPostProcessor(value *strictjson.Reader) error {
	c, err := readComponent(value)
	if err != nil {
		return fmt.Errorf("post_processor: %w", err)
	}
	known := []string{"ByteLevel", "TemplateProcessing", "BertProcessing", "RobertaProcessing",
		"Sequence"}
	for _, step := range c.flat(nil) {
		if !slices.Contains(known, step.kind) {
			return fmt.Errorf("post_processor: %w", unknownType(&step, known...))
		}
	}
	return nil
}

// newDecoder returns the steps of a decoder. If the file has no decoder, tokens are joined with
// spaces.
func newDecoder(list []component, given bool) (steps []decodeStep, err error) {
	if !given {
		return []decodeStep{eachToken(spaced)}, nil
	}
	fused := false // all tokens are one from here on
	for _, part := range list {
		if part.kind == "Fuse" {
			fused = true
			continue
		}
		step, err := newDecodeStep(&part)
		if err != nil {
			return nil, fmt.Errorf("decoder: %w", err)
		}
		if each, ok := step.(tokenStep); ok && fused {
			step = each.fused()
		}
		steps = append(steps, step)
		fused = fused || part.kind == "ByteLevel"
	}
	return steps, nil
}

func newDecodeStep(c *component) (decodeStep, error) {
	switch c.kind {
	case "Strip":
		text, start, stop := " ", 0, 0
		err := c.character("content", &text)
		if err == nil {
			err = c.natural("start", &start)
		}
		if err == nil {
			err = c.natural("stop", &stop)
		}
		start, stop = min(start, maxAddedLen), min(stop, maxAddedLen)
		return stripTokens{text, start, stop}, err
	case "Replace":
		with := ""
		err := c.text("content", &with)
		var p pattern
		if err == nil {
			p, err = c.pattern()
		}
		return replaceTokens{p, with}, err
	case "ByteLevel":
		alphabet := newByteAlphabet()
		return eachToken(func(text string, _ bool) string {
			return string(alphabet.appendBytes(nil, text))
		}), nil
	case "WordPiece":
		prefix, cleanup := "##", true
		err := c.text("prefix", &prefix)
		if err == nil {
			err = c.bool("cleanup", &cleanup)
		}
		return wordPieces(prefix, cleanup), err
	case "Metaspace":
		m, err := newMetaspace(c)
		return metaspaces(m.mark, m.scheme), err
	case "ByteFallback":
		return eachToken(byteTokens), nil
	case "BPEDecoder":
		text := "</w>"
		err := c.text("suffix", &text)
		return suffixes(text), err
	}
	return nil, unknownType(c, "ByteLevel", "WordPiece", "Metaspace", "ByteFallback", "BPEDecoder",
		"Replace", "Strip", "Fuse", "Sequence")
}
