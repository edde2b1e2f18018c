// tokenizer.json: what is followed, and what is refused by name.

package tokenizer

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
	"picogpt/internal/quote"
)

type object = map[string]any

// loadJSON loads a tokenizer.json with the 256 bytes as ids 0 to 255, "ab" as 256 and " a" as 257,
// and GPT-2's rules changed by change.
func loadJSON(t *testing.T, change func(top, model object)) (*Tokenizer, error) {
	t.Helper()
	vocab := byteVocab(0)
	vocab["ab"], vocab["Ġa"] = 256, 257
	return Load(os.DirFS(write(t, map[string]string{"tokenizer.json": tokenizerJSON(vocab,
		[]string{"a b", "Ġ a"}, change)})))
}

func TestTokenizerJSONRules(t *testing.T) {
	type rule = func(top, model object)
	split := func(pattern string) rule {
		return func(top, _ object) {
			top["pre_tokenizer"] = object{"type": "Sequence", "pretokenizers": []any{
				object{"type": "Split", "pattern": object{"Regex": pattern}, "behavior": "Isolated",
					"invert": false},
				object{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true,
					"use_regex": false},
			}}
		}
	}
	for name, test := range map[string]struct {
		change rule
		text   string
		want   []int
	}{
		"GPT-2's": {nil, "ab a a", []int{256, 257, 257}},
		"add_prefix_space": {func(top, _ object) {
			top["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true}
		}, "a\na", []int{257, '\n', 'a'}},
		"add_prefix_space before a space": {func(top, _ object) {
			top["pre_tokenizer"] = object{"type": "ByteLevel", "add_prefix_space": true}
		}, " a", []int{257}},
		"use_regex true": {func(top, _ object) {
			top["pre_tokenizer"] = object{"type": "ByteLevel", "use_regex": true}
		}, "1  a", []int{'1', ' ', 257}},
		"GPT-2's, of 1ab": {func(_, model object) {
			model["vocab"].(map[string]int)["1a"] = 258
			model["merges"] = []string{"1 a"}
		}, "1a", []int{'1', 'a'}}, // a number and a letter are two pieces
		"use_regex false: one piece": {func(top, model object) {
			top["pre_tokenizer"] = object{"type": "ByteLevel", "use_regex": false}
			model["vocab"].(map[string]int)["1a"] = 258
			model["merges"] = []string{"1 a"}
		}, "1a", []int{258}},
		"GPT-2's pattern in a Split": {split(gpt2Pattern), "1 ab", []int{'1', ' ', 256}},
		"tiktoken's spelling of it":  {split(gpt2PatternShort), "1 a", []int{'1', 257}},
		"no decoder, no type, and unknown keys that are off": {func(top, model object) {
			delete(top, "decoder")
			delete(top, "post_processor")
			delete(top, "added_tokens")
			delete(model, "type")
			top["normalizer"] = object{"type": "Sequence", "normalizers": []any{}}
			top["new"], model["newer"] = nil, false
			top["truncation"] = object{"max_length": 1}
		}, "ab", []int{256}},
	} {
		tok, err := loadJSON(t, test.change)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := encode(t, tok, test.text); !equal(got, test.want) {
			t.Errorf("%s: %q: %v, want %v", name, test.text, got, test.want)
		}
	}
}

// TestAddedTokens: special ones on request, others always; the leftmost, then the longest; beyond
// the vocabulary.
func TestAddedTokens(t *testing.T) {
	tok, err := loadJSON(t, func(top, _ object) {
		top["added_tokens"] = []any{
			object{"id": 300, "content": "<|x|>", "special": true},
			object{"id": 301, "content": "<|x|><|x|>", "special": true},
			object{"id": 302, "content": "ab1", "special": false},
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string][2][]int{
		"a<|x|>b":        {{'a', '<', '|', 'x', '|', '>', 'b'}, {'a', 300, 'b'}},
		"<|x|><|x|><|x|": {nil, {301, '<', '|', 'x', '|'}},
		"xab1ab":         {{'x', 302, 256}, {'x', 302, 256}},
		"<ab1<|x|>":      {{'<', 302, '<', '|', 'x', '|', '>'}, {'<', 302, 300}},
		"ab1":            {{302}, {302}},
	} {
		if got := encode(t, tok, text); want[0] != nil && !equal(got, want[0]) {
			t.Errorf("%q: %v, want %v", text, got, want[0])
		}
		if got := encode(t, tok.WithSpecial(), text); !equal(got, want[1]) {
			t.Errorf("%q: special %v, want %v", text, got, want[1])
		}
		roundTrip(t, tok, text, encode(t, tok.WithSpecial(), text))
	}
	if tok.Size() != 303 {
		t.Errorf("size %d", tok.Size())
	}
}

// TestAddedSpace: an added token of white space does not stand for what the one before it has taken.
// The ids are those of tokenizers 0.23.3.
func TestAddedSpace(t *testing.T) {
	for _, test := range []struct {
		left, right bool
		text        string
		want        []int
	}{
		{true, true, "x\t\t\t\t\t\tx", []int{'x', 300, 'x'}},
		{true, true, "x\t\t\t\tx\t\t", []int{'x', 300, 'x', 300}},
		{false, true, "x\t\t\t\t\t\tx", []int{'x', 300, 300, 300, 'x'}},
		{true, false, "x\t\t\t\tx\t\t", []int{'x', 300, 300, 'x', 300}},
	} {
		tok, err := loadJSON(t, func(top, _ object) {
			top["added_tokens"] = []any{object{"id": 300, "content": "\t\t", "lstrip": test.left,
				"rstrip": test.right}}
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := encode(t, tok, test.text); !equal(got, test.want) {
			t.Errorf("%+v: %v", test, got)
		}
	}
}

// TestManyAddedTokens guards against a file that makes every byte of a text meet every added token:
// minutes, not 0.1 s.
func TestManyAddedTokens(t *testing.T) {
	cases.NotShort(t)
	var list []any
	for i := range 50000 {
		list = append(list, object{"id": 300 + i, "content": fmt.Sprintf("a%d.", i)})
	}
	tok, err := loadJSON(t, func(top, _ object) { top["added_tokens"] = list })
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Repeat("a1234a49999.a50000.", 1000) + strings.Repeat("a", cases.Of(1<<18, 4<<20))
	stop := watchdog.Start(t, "%d bytes, 50000 added tokens", len(text))
	ids := encode(t, tok, text)
	stop()
	if got, err := tok.Decode(ids); got != text || err != nil {
		t.Errorf("does not decode to itself: %v", err)
	}
	if got, want := ids[:7], []int{'a', '1', '2', '3', '4', 300 + 49999, 'a'}; !equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestTokenizerJSONRefused(t *testing.T) {
	set := func(key string, value any) func(top, model object) {
		return func(top, model object) {
			if inner, ok := strings.CutPrefix(key, "model."); ok {
				model[inner] = value
			} else {
				top[key] = value
			}
		}
	}
	sequenceOf := func(name string, steps ...any) object {
		return object{"type": "Sequence", name: steps}
	}
	sequence := func(steps ...any) object { return sequenceOf("pretokenizers", steps...) }
	bytes := object{"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}
	split := func(pattern object, behavior string, invert bool) object {
		return object{"type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert}
	}
	ours := object{"Regex": gpt2Pattern}
	added := func(keys object) []any {
		token := object{"id": 300, "content": "<x>", "special": true}
		for key, value := range keys {
			token[key] = value
		}
		return []any{token}
	}
	for _, test := range []struct {
		change func(top, model object)
		want   string
	}{
		{set("model", nil), "tokenizer.json: byte"},
		{func(top, _ object) { delete(top, "model") }, "no model"},
		{func(_, model object) { delete(model, "vocab") }, "no model.vocab"},
		{func(_, model object) { delete(model, "merges") }, "no model.merges"},
		{set("model.type", "Unigram"), `model.vocab: want an object of token and id, or for Unigram`},
		{set("model.type", "CNN"), `model: CNN: not supported, want one of BPE, WordPiece, Unigram`},
		{set("model.byte_fallback", 1), "model.byte_fallback: byte "},
		{set("model.new\nkey", true), `"model.new\nkey": true is not supported`},
		{set("newer", object{"x": 1}), "newer: "},
		{set("normalizer", object{"type": "Fancy"}), "normalizer: Fancy: not supported, want NFC, "},
		{set("normalizer", object{"type": "Sequence", "normalizers": []any{object{"type": "x\ny"}}}),
			`normalizer: "x\ny": not supported`},
		{set("normalizer", 7), "want an object, found 7"},
		{set("normalizer", object{"type": "Strip", "strip_left": 1}),
			"normalizer: Strip: strip_left: byte "},
		{set("normalizer", object{"type": "Replace", "content": ""}),
			"normalizer: Replace: pattern: none, want a String or a Regex"},
		{set("normalizer", object{"type": "Precompiled", "precompiled_charsmap": "?"}),
			"normalizer: Precompiled: precompiled_charsmap: illegal base64"},
		{set("normalizer", object{"type": "Precompiled", "precompiled_charsmap": "AAAA"}),
			"precompiled_charsmap: rules of less than 4 bytes"},
		{set("normalizer", object{"type": "Precompiled", "precompiled_charsmap": "/////wA="}),
			"precompiled_charsmap: a trie of 4294967295 bytes in rules of 5"},
		{set("post_processor", object{"type": "Fancy"}), "post_processor: Fancy: not supported"},
		{set("decoder", object{"type": "CTC"}), "decoder: CTC: not supported, want ByteLevel, "},
		{set("decoder", sequenceOf("decoders", object{"type": "Fuse"},
			object{"type": "Strip", "content": "xx"})), `Strip: content: "xx", want one character`},
		{set("pre_tokenizer", object{"type": "UnicodeScripts"}),
			"pre_tokenizer: UnicodeScripts: not supported, want ByteLevel, Split, "},
		{set("pre_tokenizer", sequence(split(object{"Regex": `(a)\1`}, "Isolated", false), bytes)),
			"pre_tokenizer: Split: pattern: the pattern \"(a)\\\\1\": byte 4: \\1: not supported"},
		{set("pre_tokenizer", split(object{"Regex": `\p{Klingon}`}, "Isolated", false)),
			`\p{Klingon}: not supported`},
		{set("pre_tokenizer", split(ours, "Alone", false)),
			`Split: behavior: behavior "Alone": not supported, want one of ["Isolated"`},
		{set("pre_tokenizer", object{"type": "Metaspace", "prepend_scheme": "last"}),
			`Metaspace: prepend_scheme: "last": not supported`},
		{set("pre_tokenizer", object{"type": "Metaspace", "replacement": ""}),
			`Metaspace: replacement: "", want one character`},
		{set("added_tokens", added(object{"id": -1})),
			`added_tokens[0]: byte 39: want a whole number from 0 to 1048575, found "-1"`},
		{set("added_tokens", added(object{"id": 1 << 20})),
			`want a whole number from 0 to 1048575, found "1048576"`},
		{set("added_tokens", added(object{"id": 97})),
			`added_tokens[0]: id 97 is given twice, to "a" and "<x>"`},
		{set("added_tokens", added(object{"content": ""})), `added token 300 is empty`},
		{set("added_tokens", append(added(nil), added(object{"id": 301})...)),
			`added_tokens[1]: added token "<x>" comes twice`},
		{set("added_tokens", object{"x": 1}), "want an array, found an object"},
		{set("model.merges", []any{[]string{"a", "b", "c"}}), "a merge of 3 tokens, want 2"},
		{set("model.merges", []any{"a b", "abc"}), `"abc": want two tokens with a space between`},
		{set("model.merges", []any{"a b", "a c"}),
			`model.merges[1]: "ac", which "a" and "c" make, is not in model.vocab`},
		{set("model.merges", []any{7}), "want a string, found 7"},
		{set("model.vocab", []any{[]any{"a", -1.5}}), "model.vocab: want an object of token and id"},
		{set("model.vocab", []any{[]any{"a"}}), "model.vocab[0]: byte "},
		{set("model.vocab", []any{[]any{"a", 1, 2}}), "want [piece, score], found more"},
	} {
		_, err := loadJSON(t, test.change)
		if err == nil || !strings.Contains(err.Error(), test.want) ||
			!strings.Contains(err.Error(), "tokenizer.json: ") {
			t.Errorf("%v, want …%s…", err, test.want)
		} else if strings.ContainsAny(err.Error(), "\n\r") {
			t.Errorf("not one line: %q", err)
		}
	}
}

func TestTokenizerJSONHostile(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	for text, want := range map[string]string{
		"":                          "byte 0: not valid JSON: unexpected EOF",
		"null":                      "byte 0: want an object, found null",
		"{":                         "byte 1: not valid JSON: unexpected EOF",
		`{"model"`:                  "byte 8: not valid JSON: unexpected EOF",
		`{"model":`:                 "byte 9: not valid JSON: unexpected EOF",
		`{"version":"\`:             "byte 12: not valid JSON: unexpected EOF",
		`{"model":]}`:               "byte 9: not valid JSON: invalid character ']'",
		`{"model":{}} {}`:           "byte 13: want the end",
		`{"model":{},"model":{}}`:   `"model" comes twice`,
		`{"version":@@,"model":{}}`: "byte 11: not valid JSON: invalid character '@'",
		`{"model":{"vocab":{"a":1},"vocab":{"a":1}}}`:                                   `"vocab" comes twice`,
		`{"model":{"vocab":{"a":1},"merges":["a a"`:                                     "model.merges[0]",
		`{"model":{"merges":[1],"vocab":{"a":1}}}`:                                      "byte 20: want a string, found 1",
		`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"merges":[1],"vocab":{"a":1}}}`: "byte 57: want a string, found 1",
		`{"pre_tokenizer":{"type":"ByteLevel","type":"Split"}}`:                         `"type" comes twice`,
		`{"pre_tokenizer":{"type":"ByteLevel\ud800"}}`:                                  "lone surrogate",
		`{"x":` + deep: "exceeded max depth",
		`{"pre_tokenizer":` + deep + strings.Repeat("]", 1<<20) +
			`}`: "exceeded max depth",
		`{"pre_tokenizer":[` + strings.Repeat("0,", 1<<20) +
			`0]}`: "no model",
		`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"vocab":` + deep +
			strings.Repeat("]", 1<<20) + `,"merges":[]}}`: "want a string, found an array",
	} {
		checkBad(t, quote.Short(text, 60), write(t, map[string]string{"tokenizer.json": text}),
			"tokenizer.json: ")
		checkBad(t, quote.Short(text, 60), write(t, map[string]string{"tokenizer.json": text}),
			want)
	}
}

func FuzzTokenizerJSON(f *testing.F) {
	f.Add(`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]}}`)
	f.Add(`{"added_tokens":[{"id":7,"content":"<x>"}],"pre_tokenizer":{"type":"ByteLevel","use_regex":false},"model":{"merges":[["a","\u0062"]],"vocab":{"a":0,"b":1,"ab":2}}}`)
	f.Add(`{"pre_tokenizer":{"type":"Sequence","pretokenizers":[{"type":"Split","pattern":{"Regex":"x"},"behavior":"Isolated"},{"type":"ByteLevel","use_regex":false}]},"model":{}}`)
	f.Fuzz(func(t *testing.T, text string) {
		tok, err := parseTokenizerJSON(text)
		usable(t, tok, err, text)
	})
}
