// Models of a tokenizer.json.

package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// A modelFile holds what was read of the member model.
type modelFile struct {
	found  bool
	kind   string
	vocab  *vocabulary
	pieces bool               // the vocabulary is a list of pieces with scores
	merged bool               // the merges were added to vocab
	merges *strictjson.Reader // merges that stood before the vocabulary in the file

	unknown        string // unk_token
	unknownID      int    // unk_id; -1 if there is none
	hasID          bool
	prefix, suffix string
	fuse           bool
	byteFallback   bool
	ignoreMerges   bool
	longest        int // max_input_chars_per_word
}

// member reads a member of model.
func (f *modelFile) member(r *strictjson.Reader, key string) (err error) {
	switch {
	case key == "vocab" && r.Kind() == '[':
		f.pieces = true
		f.vocab, err = readPieces(r)
		return err
	case key == "vocab":
		f.vocab, err = readVocab("model.vocab", r)
		return err
	case key == "merges" && f.vocab != nil && r.Kind() == '[':
		f.merged = true
		return f.vocab.readMerges(r, f.prefix)
	}
	value, err := r.Value()
	if err != nil || value.Text() == "null" {
		return err
	}
	switch key {
	case "merges":
		f.merges = value
	case "type":
		f.kind, err = value.String()
	case "unk_token":
		f.unknown, err = value.String()
	case "unk_id":
		var id int64
		id, err = value.Natural(maxIDs - 1)
		f.unknownID, f.hasID = int(id), true
	case "continuing_subword_prefix":
		before := f.prefix
		if f.prefix, err = value.String(); err == nil && f.merged && f.prefix != before {
			err = errors.New("want it before the merges")
		}
	case "end_of_word_suffix":
		f.suffix, err = value.String()
	case "fuse_unk":
		f.fuse, err = value.Bool()
	case "byte_fallback":
		f.byteFallback, err = value.Bool()
	case "ignore_merges":
		f.ignoreMerges, err = value.Bool()
	case "max_input_chars_per_word":
		var n int64
		n, err = value.Natural(math.MaxInt32)
		f.longest = int(n)
	case "dropout": // used in training only
	default:
		return refuse(value, "model."+key)
	}
	if n := max(len(f.prefix), len(f.suffix)); err == nil && n > maxAffix {
		err = fmt.Errorf("%d bytes, want at most %d", n, maxAffix)
	}
	if err != nil {
		err = fmt.Errorf("model.%s: %w", quote.Plain(key, 60), err)
	}
	return err
}

// maxAffix bounds, in bytes, what is added to each character of a text.
const maxAffix = 64

// models are the supported types of models.
var models = []string{kindBPE, kindWordPiece, kindUnigram, kindWordLevel}

// complete returns the vocabulary with everything that could only be read after it.
func (f *modelFile) complete(added *strictjson.Reader) (*vocabulary, error) {
	if f.vocab == nil {
		return nil, errors.New("no model.vocab")
	}
	if f.kind = f.inferred(); !slices.Contains(models, f.kind) {
		return nil, fmt.Errorf("model: %s: not supported, want one of %s", quote.Plain(f.kind, 60),
			strings.Join(models, ", "))
	}
	if f.pieces != (f.kind == "Unigram") {
		return nil, fmt.Errorf("model.vocab: want an object of token and id, "+
			"or for Unigram an array of pieces with scores; found the other one for %s", f.kind)
	}
	if f.kind == "BPE" {
		if f.merges != nil {
			if err := f.vocab.readMerges(f.merges, f.prefix); err != nil {
				return nil, err
			}
		} else if !f.merged {
			return nil, errors.New("no model.merges")
		}
	}
	return f.vocab, f.vocab.readAdded(added)
}

// inferred returns the type of a model whose file does not name it.
func (f *modelFile) inferred() string {
	switch {
	case f.kind != "":
		return f.kind
	case f.pieces:
		return "Unigram"
	case f.merged || f.merges != nil:
		return "BPE"
	case f.longest > 0:
		return "WordPiece"
	case f.unknown != "":
		return "WordLevel"
	}
	return "BPE"
}

// plainBPE reports whether the model is byte-pair encoding as in GPT-2.
func (f *modelFile) plainBPE() bool {
	if f.kind != "BPE" || f.prefix != "" || f.suffix != "" || f.byteFallback || f.ignoreMerges {
		return false
	}
	// bytes without a token are unknown, if the file has a token for that; else they are dropped
	return f.unknown == "" || len(f.vocab.missing()) == 0
}

// missing returns the bytes that have no token in GPT-2's byte alphabet.
func (v *vocabulary) missing() (bytes []byte) {
	for b, r := range newByteAlphabet().runes {
		if _, ok := v.ids[string(r)]; !ok {
			bytes = append(bytes, byte(b))
		}
	}
	return bytes
}

// build sets the tokenizer's model.
func (f *modelFile) build(t *Tokenizer, v *vocabulary) error {
	var err error
	switch unknown := v.ids.id(f.unknown); f.kind {
	case kindBPE:
		t.model = f.charBPE(v, unknown)
	case kindWordPiece:
		t.model, err = f.wordPiece(v, unknown)
	case kindWordLevel:
		t.model = &wordLevel{ids: v.ids, unknown: unknown}
	case kindUnigram:
		t.model, err = f.unigram(v)
	}
	t.kind = f.kind
	return err
}

func (f *modelFile) charBPE(v *vocabulary, unknown uint32) model {
	m := &charBPE{ids: v.ids, prefix: f.prefix, suffix: f.suffix,
		unknown: unknown, dropped: f.unknown == "", fuse: f.fuse, whole: f.ignoreMerges,
		byteID: v.byteTokens(f.byteFallback)}
	m.setMerges(v.merges, len(v.tokens))
	return m
}

func (f *modelFile) wordPiece(v *vocabulary, unknown uint32) (model, error) {
	for id, text := range v.tokens {
		if len(text) > maxPiece {
			return nil, fmt.Errorf("model.vocab: token %d has %d bytes, want at most %d", id,
				len(text), maxPiece)
		}
	}
	return newWordPiece(v, cmp.Or(f.prefix, "##"), unknown, cmp.Or(f.longest, 100)), nil
}

func (f *modelFile) unigram(v *vocabulary) (model, error) {
	m := &unigram{scores: v.scores, ids: v.ids, unknown: none,
		unscored: slices.Min(v.scores) - unknownPenalty, byteID: v.byteTokens(f.byteFallback)}
	if f.hasID {
		if m.unknown = uint32(f.unknownID); f.unknownID >= len(v.scores) {
			return nil, fmt.Errorf("model.unk_id: %d, want less than the %d pieces", f.unknownID,
				len(v.scores))
		}
	}
	texts := make([]treeText, 0, len(v.ids))
	for text, id := range v.ids {
		texts = append(texts, treeText{text, id})
	}
	m.pieces = newPrefixTree(texts)
	return m, nil
}

// byteTokens returns the ids of the tokens that stand for single bytes.
func (v *vocabulary) byteTokens(wanted bool) *[256]uint32 {
	if !wanted {
		return nil
	}
	ids := new([256]uint32)
	for b := range ids {
		ids[b] = v.ids.id(fmt.Sprintf("<0x%02X>", b))
	}
	return ids
}

// readPieces reads an array of [piece, score]. Of equal pieces the last one counts.
func readPieces(r *strictjson.Reader) (*vocabulary, error) {
	v := &vocabulary{name: "model.vocab", ids: map[string]uint32{}}
	err := r.Array(func(i int) error {
		if i == maxIDs {
			return r.Errorf("more than %d pieces", maxIDs)
		}
		var text string
		var score float64
		n := 0
		err := r.Array(func(j int) (err error) {
			switch n = j + 1; j {
			case 0:
				text, err = r.String()
			case 1:
				score, err = readScore(r)
			default:
				err = r.Errorf("want [piece, score], found more")
			}
			return err
		})
		if err == nil && n != 2 {
			err = r.Errorf("want [piece, score], found %d values", n)
		}
		if err == nil {
			err = v.addPiece(text, score)
		}
		if err != nil {
			return fmt.Errorf("model.vocab[%d]: %w", i, err)
		}
		return nil
	})
	if err == nil && len(v.ids) == 0 {
		err = r.Errorf("no tokens")
	}
	return v, err
}

// readScore reads a number.
func readScore(r *strictjson.Reader) (float64, error) {
	digits, err := r.Number()
	if err != nil {
		return 0, err
	}
	score, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return 0, r.Errorf("want a score, found %s", quote.Short(digits, 24))
	}
	return score, nil
}

// maxPiece bounds a piece in bytes: at each byte of a text, all pieces that may begin there are
// tried.
const maxPiece = 1 << 10

// addPiece appends a piece with its score.
func (v *vocabulary) addPiece(text string, score float64) error {
	switch {
	case len(text) > maxPiece:
		return fmt.Errorf("a piece of %d bytes, want at most %d", len(text), maxPiece)
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", quote.Short(text, 60))
	case math.IsNaN(score) || math.IsInf(score, 0):
		return fmt.Errorf("%s has score %v, want a number", quote.Short(text, 60), score)
	}
	if text != "" {
		v.ids[text] = uint32(len(v.tokens))
	}
	v.tokens, v.scores = append(v.tokens, text), append(v.scores, score)
	return nil
}

// readMerges reads an array of merges, each "left right" or ["left", "right"].
func (v *vocabulary) readMerges(r *strictjson.Reader, prefix string) error {
	v.prefix = prefix
	return r.Array(func(i int) error {
		left, right, err := mergePair(r)
		if err != nil {
			return err
		}
		if err := v.addMerge(left, right); err != nil {
			return fmt.Errorf("model.merges[%d]: %w", i, err)
		}
		return nil
	})
}

func mergePair(r *strictjson.Reader) (left, right string, err error) {
	if r.Kind() != '[' {
		pair, err := r.String()
		if err != nil {
			return "", "", err
		}
		left, right, ok := strings.Cut(pair, " ")
		if !ok || strings.Contains(right, " ") {
			return "", "", r.Errorf("%s: want two tokens with a space between",
				quote.Short(pair, 60))
		}
		return left, right, nil
	}
	n := 0
	err = r.Array(func(i int) error {
		token, err := r.String()
		left, right, n = right, token, i+1
		return err
	})
	if err == nil && n != 2 {
		err = r.Errorf("a merge of %d tokens, want 2", n)
	}
	return left, right, err
}
