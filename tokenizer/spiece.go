// spiece.model, sentencepiece's own file (a protocol buffer: sentencepiece_model.proto), with
// sentencepiece's own semantics, some of which Hugging Face's library does not have.

package tokenizer

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/format/protobuf"
	"picogpt/internal/quote"
)

// A pieceFile holds the fields of a spiece.model.
type pieceFile struct {
	pieces       []sentencePiece
	model        uint64 // 1 Unigram, 2 BPE
	byteFallback bool
	rules        []byte // precompiled_charsmap
	prefix       bool   // add_dummy_prefix
	suffix       bool   // treat_whitespace_as_suffix: that space stands after the text
	tidy         bool   // remove_extra_whitespaces
	escape       bool   // escape_whitespaces
}

type sentencePiece struct {
	text  string
	score float32
	kind  Kind // GGUF's numbers come from here
}

// loadPieces returns a function that returns the tokenizer of a spiece.model with that name. It also
// reads do_lower_case of tokenizer_config.json.
func loadPieces(name string) func(fsys fs.FS, texts []string) (*Tokenizer, error) {
	return func(fsys fs.FS, texts []string) (*Tokenizer, error) {
		t, v, err := parsePieces(texts[0])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
		}
		return t, t.finishPieces(fsys, v)
	}
}

// finishPieces adds what other files say.
func (t *Tokenizer) finishPieces(fsys fs.FS, v *vocabulary) error {
	c, err := readConfig(fsys)
	if err != nil {
		return err
	}
	if c.flag("do_lower_case", false) {
		t.normalizers = append([]normalizer{lowercase{}}, t.normalizers...)
	}
	if err := v.loadAdded(fsys, &c); err != nil {
		return err
	}
	t.tokens = newTokens(v.tokens)
	t.decoding.tokens = t.tokens
	t.finish(v)
	return nil
}

// parsePieces returns the pipeline of a spiece.model, without added tokens, and its vocabulary.
func parsePieces(data string) (*Tokenizer, *vocabulary, error) {
	f := pieceFile{model: 1, prefix: true, tidy: true, escape: true}
	if err := f.read([]byte(data)); err != nil {
		return nil, nil, err
	}
	switch {
	case f.model != 1 && f.model != 2:
		return nil, nil, fmt.Errorf("model_type %d: not supported, want 1 (Unigram) or 2 (BPE)", f.model)
	case len(f.pieces) == 0:
		return nil, nil, errors.New("no pieces")
	}
	v := &vocabulary{name: "the pieces", ids: map[string]uint32{}}
	for id, p := range f.pieces {
		if _, twice := v.ids[p.text]; twice || p.text == "" {
			return nil, nil, fmt.Errorf("piece %d, %s: empty or there already", id,
				quote.Short(p.text, 60))
		}
		if err := v.addPiece(p.text, float64(p.score)); err != nil {
			return nil, nil, fmt.Errorf("piece %d: %w", id, err)
		}
	}
	kind, m := kindUnigram, model(f.unigram(v))
	if f.model == 2 {
		b, err := f.bpe(v)
		if err != nil {
			return nil, nil, err
		}
		kind, m = kindBPE, b
	}
	for id, p := range f.pieces {
		if p.kind == Control || p.kind == Unknown {
			if err := v.addToken(addedToken{text: p.text, id: id, special: true,
				asked: true}); err != nil {
				return nil, nil, err
			}
		}
	}
	var user []treeText
	for id, p := range f.pieces {
		if p.kind == User {
			user = append(user, treeText{p.text, uint32(id)})
		}
	}
	rules := &pieceRules{user: newPrefixTree(user), prefix: f.prefix && !f.suffix,
		suffix: f.prefix && f.suffix, tidy: f.tidy, escape: f.escape}
	if len(f.rules) > 0 {
		var err error
		if rules.rules, err = newCharsmap(f.rules); err != nil {
			return nil, nil, fmt.Errorf("precompiled_charsmap: %w", err)
		}
	}
	t := &Tokenizer{kind: kind, normalizers: []normalizer{rules}, model: m, start: -1,
		endOfText: -1}
	t.decoding.steps = f.decoder()
	return t, v, nil
}

// unigram returns a Unigram model of the pieces. User-defined pieces win over all others; control
// and unused pieces do not occur in texts.
func (f *pieceFile) unigram(v *vocabulary) *unigram {
	m := &unigram{scores: v.scores, unknown: none, single: true}
	least := float32(math.Inf(1))
	for _, p := range f.pieces {
		if p.kind == Normal {
			least = min(least, p.score)
		}
	}
	m.unscored = float64(least - unknownPenalty)
	var texts []treeText
	for id, p := range f.pieces {
		switch p.kind {
		case Unknown:
			m.unknown = uint32(id)
		case User:
			m.scores[id] = 0 // above the logarithm of any probability
			fallthrough
		case Normal:
			texts = append(texts, treeText{p.text, uint32(id)})
		}
	}
	m.pieces = newPrefixTree(texts)
	if f.byteFallback {
		m.byteID = v.byteTokens()
	}
	return m
}

// bpe returns a BPE model of the pieces. Any two neighbours whose text is a piece can be merged; the
// piece of the greatest score is made first. User-defined pieces stay as they are; control, unused
// and byte pieces do not occur in texts.
func (f *pieceFile) bpe(v *vocabulary) (*charBPE, error) {
	m := &charBPE{ids: map[string]uint32{}, unknown: none, fuse: true}
	var user []treeText
	var order []uint32 // pieces that merges may make
	for id, p := range f.pieces {
		switch p.kind {
		case Unknown:
			m.unknown = uint32(id)
		case User:
			user = append(user, treeText{p.text, uint32(id)})
		case Normal:
			m.ids[p.text] = uint32(id)
			order = append(order, uint32(id))
		}
	}
	m.user = newPrefixTree(user)
	slices.SortStableFunc(order, func(a, b uint32) int {
		return cmp.Compare(f.pieces[b].score, f.pieces[a].score)
	})
	type pair struct{ left, right, rank uint32 }
	var pairs []pair
	for rank, id := range order {
		text := f.pieces[id].text
		for at := range text {
			left, known := m.ids[text[:at]]
			right, both := m.ids[text[at:]]
			if known && both {
				pairs = append(pairs, pair{left, right, uint32(rank)})
			}
			if len(pairs) > maxMerges {
				return nil, fmt.Errorf("more than %d merges", maxMerges)
			}
		}
	}
	if err := f.checkCharacters(m); err != nil {
		return nil, err
	}
	m.setMerges(nil, len(v.tokens))
	m.merges = merges{newPairTable(len(pairs)), order}
	for _, p := range pairs { // all that make one piece have one rank: the leftmost of them is first
		m.pairs.set(p.left, p.right, p.rank)
	}
	if f.byteFallback {
		m.byteID = v.byteTokens()
	}
	return m, nil
}

// checkCharacters reports pieces with a character that is no piece: unknown characters are not
// merged here, but in sentencepiece, whose training makes a piece of each character.
func (f *pieceFile) checkCharacters(m *charBPE) error {
	for id, p := range f.pieces {
		if p.kind != Normal {
			continue
		}
		for _, c := range p.text {
			_, user := m.user.longest(string(c))
			if _, ok := m.ids[string(c)]; !ok && user == 0 {
				return fmt.Errorf("piece %d, %s: the character %q is no piece: not supported", id,
					quote.Short(p.text, 60), c)
			}
		}
	}
	return nil
}

// decoder returns the step back to text.
func (f *pieceFile) decoder() []decodeStep {
	bytes := map[string]bool{}
	for _, p := range f.pieces {
		if p.kind == Byte {
			bytes[p.text] = true
		}
	}
	return []decodeStep{pieceTokens{bytes, f.prefix || f.tidy, f.tidy}}
}

// pieceTokens turns pieces into text. It removes the space that was put before the text, or all that
// are there if texts have none of their own.
type pieceTokens struct {
	bytes map[string]bool
	strip bool
	all   bool
}

func (t pieceTokens) push(s *decodeState, text string) string {
	if t.bytes[text] {
		s.first = false
		return byteTokens(text, false)
	}
	if s.first = s.first || s.tokens == 0; s.first && t.strip {
		rest, found := strings.CutPrefix(text, "▁")
		text, s.first = rest, rest == "" && (t.all || !found)
	}
	return strings.ReplaceAll(text, "▁", " ")
}

func (pieceTokens) flush(*decodeState) string { return "" }

// read reads the message ModelProto.
func (f *pieceFile) read(data []byte) error {
	err := protobuf.Fields(data, func(number int, n uint64, b []byte) error {
		switch number {
		case 1:
			if len(f.pieces) == maxIDs {
				return fmt.Errorf("more than %d pieces", maxIDs)
			}
			p := sentencePiece{kind: Normal}
			err := protobuf.Fields(b, p.field)
			f.pieces = append(f.pieces, p)
			return err
		case 2:
			return protobuf.Fields(b, f.trainer)
		case 3:
			return protobuf.Fields(b, f.normalizer)
		}
		return nil
	})
	if errors.Is(err, protobuf.ErrBroken) {
		return errors.New("not a sentencepiece model: broken protocol buffer")
	}
	return err
}

// field reads a field of the message SentencePiece.
func (p *sentencePiece) field(number int, n uint64, b []byte) error {
	switch number {
	case 1:
		p.text = string(b)
	case 2:
		p.score = math.Float32frombits(uint32(n))
	case 3:
		if p.kind = Kind(n); n < 1 || n > 6 {
			return fmt.Errorf("piece %s: type %d, want 1 to 6", quote.Short(p.text, 60), n)
		}
	}
	return nil
}

// trainer reads a field of the message TrainerSpec.
func (f *pieceFile) trainer(number int, n uint64, _ []byte) error {
	switch number {
	case 3:
		f.model = n
	case 24:
		f.suffix = n != 0
	case 35:
		f.byteFallback = n != 0
	}
	return nil
}

// normalizer reads a field of the message NormalizerSpec.
func (f *pieceFile) normalizer(number int, n uint64, b []byte) error {
	switch number {
	case 2:
		f.rules = b
	case 3:
		f.prefix = n != 0
	case 4:
		f.tidy = n != 0
	case 5:
		f.escape = n != 0
	}
	return nil
}
