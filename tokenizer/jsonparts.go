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

// readParts reads a member of the file as its steps, each with make.
func readParts[T any](
	parts map[string]*strictjson.Reader, member string, make func(*component) T,
) (list []T, err error) {
	steps, err := readSteps(parts[member])
	for i := 0; i < len(steps) && err == nil; i++ {
		list = append(list, make(&steps[i]))
		err = steps[i].err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", member, err)
	}
	return list, nil
}

// unknown refuses a component of an unknown type.
func (c *component) unknown(known ...string) {
	c.err = fmt.Errorf("%s: not supported, want %s", quote.Plain(c.kind, 60),
		strings.Join(known, ", "))
}

func (c *component) normalizer() normalizer {
	plain := map[string]normalizer{"NFC": form{norm.NFC}, "NFD": form{norm.NFD},
		"NFKC": form{norm.NFKC}, "NFKD": form{norm.NFKD}, "Lowercase": lowercase{},
		"StripAccents": dropping{isAccent}, "Nmt": nmt{}, "ByteLevel": newByteAlphabet()}
	if n, ok := plain[c.kind]; ok {
		return n
	}
	switch c.kind {
	case "Strip":
		return strip{c.bool("strip_left", true), c.bool("strip_right", true)}
	case "Prepend":
		return prepend(c.text("prepend", ""))
	case "Replace":
		return replacing{with: c.text("content", ""), pattern: c.pattern()}
	case "Precompiled":
		text := c.text("precompiled_charsmap", "")
		if text == "" {
			return strip{} // which changes nothing
		}
		rules, err := base64.StdEncoding.DecodeString(text)
		m := &charsmap{}
		if err == nil {
			m, err = newCharsmap(rules)
		}
		c.fail("precompiled_charsmap", err)
		return clusterRules{m}
	case "BertNormalizer":
		b := bertNormalizer{clean: c.bool("clean_text", true),
			chinese: c.bool("handle_chinese_chars", true), lower: c.bool("lowercase", true)}
		b.accents = c.bool("strip_accents", b.lower)
		return b
	}
	c.unknown("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "Strip", "StripAccents", "Replace",
		"Prepend", "Nmt", "Precompiled", "BertNormalizer", "ByteLevel", "Sequence")
	return nil
}

func (c *component) splitter() splitter {
	switch c.kind {
	case "ByteLevel":
		return levelSplitter{splitting{prefixSpace: c.bool("add_prefix_space", false),
			whole: !c.bool("use_regex", true)}, newByteAlphabet()}
	case "Digits":
		s := patternSplitter{pattern: single(isNumeric), behavior: contiguous}
		if c.bool("individual_digits", false) {
			s.behavior = isolated
		}
		return s
	case "Punctuation":
		return patternSplitter{pattern: single(isBertPunctuation), behavior: c.behavior()}
	case "Split":
		return patternSplitter{c.pattern(), c.behavior(), c.bool("invert", false)}
	case "CharDelimiterSplit":
		return patternSplitter{pattern: literal(c.character("delimiter", "")), behavior: removed}
	case "Whitespace":
		return words{joined: isAddedWord}
	case "WhitespaceSplit":
		return words{}
	case "BertPreTokenizer":
		return words{single: isBertPunctuation}
	case "Metaspace":
		return c.metaspace()
	}
	c.unknown("ByteLevel", "Split", "Digits", "Punctuation", "Whitespace", "WhitespaceSplit",
		"CharDelimiterSplit", "BertPreTokenizer", "Metaspace", "Sequence")
	return nil
}

// behavior reads the member behavior, which is Isolated if it is empty.
func (c *component) behavior() behavior {
	name := c.text("behavior", "")
	i := slices.Index(behaviors, name)
	if i < 0 && name != "" {
		c.fail("behavior", fmt.Errorf("behavior %q: not supported, want one of %q", name,
			behaviors))
	}
	return behavior(max(i, 0))
}

// metaspace reads a Metaspace, which may be a pre-tokenizer or a decoder.
func (c *component) metaspace() metaspace {
	m := metaspace{mark: c.character("replacement", "▁"), cut: c.bool("split", true)}
	scheme := "always"
	if !c.bool("add_prefix_space", true) {
		scheme = "never"
	}
	scheme = c.text("prepend_scheme", scheme)
	at := slices.Index([]string{"always", "first", "never"}, scheme)
	if m.scheme = prepending(at); at < 0 {
		c.fail("prepend_scheme", fmt.Errorf("%s: not supported, want always, first or never",
			quote.Short(scheme, 60)))
	}
	return m
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
			step.unknown(known...)
			return fmt.Errorf("post_processor: %w", step.err)
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
		step := part.decodeStep()
		if part.err != nil {
			return nil, fmt.Errorf("decoder: %w", part.err)
		}
		if each, ok := step.(tokenStep); ok && fused {
			step = each.fused()
		}
		steps = append(steps, step)
		fused = fused || part.kind == "ByteLevel"
	}
	return steps, nil
}

func (c *component) decodeStep() decodeStep {
	switch c.kind {
	case "Strip":
		return stripTokens{c.character("content", " "), min(c.natural("start"), maxAddedLen),
			min(c.natural("stop"), maxAddedLen)}
	case "Replace":
		return replaceTokens{with: c.text("content", ""), pattern: c.pattern()}
	case "ByteLevel":
		alphabet := newByteAlphabet()
		return eachToken(func(text string, _ bool) string {
			return string(alphabet.appendBytes(nil, text))
		})
	case "WordPiece":
		return wordPieces(c.text("prefix", "##"), c.bool("cleanup", true))
	case "Metaspace":
		m := c.metaspace()
		return metaspaces(m.mark, m.scheme)
	case "ByteFallback":
		return eachToken(byteTokens)
	case "BPEDecoder":
		return suffixes(c.text("suffix", "</w>"))
	}
	c.unknown("ByteLevel", "WordPiece", "Metaspace", "ByteFallback", "BPEDecoder", "Replace",
		"Strip", "Fuse", "Sequence")
	return nil
}
