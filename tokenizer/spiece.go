// spiece.model, sentencepiece's own file (a protocol buffer: sentencepiece_model.proto), with
// sentencepiece's own semantics, some of which Hugging Face's library does not have.

package tokenizer

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"picogpt/internal/protobuf"
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

// loadPieces loads a spiece.model, and of tokenizer_config.json do_lower_case.
func loadPieces(fsys fs.FS, c *tokenizerConfig, names, texts []string) (*Tokenizer, error) {
	t, v, err := parsePieces(texts[0])
	if err != nil {
		return nil, inFile(fsys, names[0], err)
	}
	if c.flag("do_lower_case", false) {
		t.normalizers = append([]normalizer{lowercase{}}, t.normalizers...)
	}
	if err := v.loadAdded(fsys, c); err != nil {
		return nil, err
	}
	t.tokens = newTokens(v.tokens)
	t.decoding.tokens = t.tokens
	t.finish(v)
	return t, nil
}

// parsePieces returns the pipeline of a spiece.model, without added tokens, and its vocabulary.
func parsePieces(data string) (*Tokenizer, *vocabulary, error) {
	f := pieceFile{model: 1, prefix: true, tidy: true, escape: true}
	if err := f.read([]byte(data)); err != nil {
		return nil, nil, err
	}
	switch {
	case f.model != 1 && f.model != 2:
		return nil, nil, fmt.Errorf("model_type %d: not supported, want 1 (Unigram) or 2 (BPE)",
			f.model)
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
	user := newPrefixTree(f.texts(User))
	kind, m := kindUnigram, model(f.unigram(v))
	if f.model == 2 {
		b, err := f.bpe(v, user)
		if err != nil {
			return nil, nil, err
		}
		kind, m = kindBPE, b
	}
	for id, p := range f.pieces {
		if p.kind == Control || p.kind == Unknown {
			if err := v.addToken(specialToken(p.text, id)); err != nil {
				return nil, nil, err
			}
		}
	}
	rules := &pieceRules{user: user, prefix: f.prefix && !f.suffix,
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

// texts returns the pieces of some kinds.
func (f *pieceFile) texts(kinds ...Kind) (list []treeText) {
	for id, p := range f.pieces {
		if slices.Contains(kinds, p.kind) {
			list = append(list, treeText{p.text, uint32(id)})
		}
	}
	return list
}

// unigram returns a Unigram model of the pieces. User-defined pieces are likelier than all others,
// and longer ones more so; control and unused pieces do not occur in texts.
func (f *pieceFile) unigram(v *vocabulary) *unigram {
	m := &unigram{scores: v.scores, unknown: none, single: true,
		byteID: v.byteTokens(f.byteFallback)}
	least := float32(math.Inf(1))
	for _, p := range f.pieces {
		if p.kind == Normal {
			least = min(least, p.score)
		}
	}
	m.unscored = float64(least - unknownPenalty)
	for id, p := range f.pieces {
		switch p.kind {
		case Unknown:
			m.unknown = uint32(id)
		case User:
			m.scores[id] = .1*float64(len(p.text)) - .1 // that of sentencepiece 0.2.3, not the file's
		}
	}
	m.pieces = newPrefixTree(f.texts(Normal, User))
	return m
}

// bpe returns a BPE model of the pieces. Any two neighbours whose text is a piece can be merged;
// the piece of the greatest score is made first. User-defined pieces stay as they are; control,
// unused and byte pieces do not occur in texts.
func (f *pieceFile) bpe(v *vocabulary, user *prefixTree) (*charBPE, error) {
	m := &charBPE{ids: map[string]uint32{}, unknown: none, fuse: true, user: user,
		byteID: v.byteTokens(f.byteFallback)}
	var order []uint32 // pieces that merges may make
	for id, p := range f.pieces {
		switch p.kind {
		case Unknown:
			m.unknown = uint32(id)
		case Normal:
			m.ids[p.text] = uint32(id)
			order = append(order, uint32(id))
		}
	}
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
	for _, p := range pairs { // all that make one piece have one rank: the leftmost is first
		m.pairs.set(p.left, p.right, p.rank)
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

// pieceTokens turns pieces into text. It removes the space that was put before the text, or all
// that are there if texts have none of their own.
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

// A charsmap is a set of sentencepiece's normalization rules: texts and their replacements,
// precompiled to a double-array trie (Aoe 1989, as Darts-clone stores it). A spiece.model has these
// bytes, and a tokenizer.json has them in base64; the two readers apply them differently.
type charsmap struct {
	units []uint32 // of the trie
	texts string   // the replacements, each ended by NUL
}

// newCharsmap reads rules: the length of the trie in bytes, the trie, the texts.
func newCharsmap(rules []byte) (*charsmap, error) {
	if len(rules) < 4 {
		return nil, errors.New("rules of less than 4 bytes")
	}
	size, rest := int64(binary.LittleEndian.Uint32(rules)), rules[4:]
	if size%4 != 0 || size == 0 || size > int64(len(rest)) {
		return nil, fmt.Errorf("a trie of %d bytes in rules of %d", size, len(rules))
	}
	m := &charsmap{units: make([]uint32, size/4), texts: string(rest[size:])}
	for i := range m.units {
		m.units[i] = binary.LittleEndian.Uint32(rest[4*i:])
	}
	if !utf8.ValidString(m.texts) {
		return nil, errors.New("texts that are not valid UTF-8")
	}
	return m, nil
}

// find returns the replacement of the shortest beginning of s that has a rule, or of the longest,
// and the length of that beginning; 0 if there is none.
func (m *charsmap) find(s string, longest bool) (text string, length int) {
	offset := func(unit uint32) uint32 { return unit >> 10 << (unit & (1 << 9) >> 6) }
	at := offset(m.units[0])
	for i := range len(s) {
		at ^= uint32(s[i])
		if s[i] == 0 || int64(at) >= int64(len(m.units)) ||
			m.units[at]&(1<<31|0xff) != uint32(s[i]) {
			break
		}
		leaf := m.units[at]&(1<<8) != 0
		at ^= offset(m.units[at])
		if !leaf || int64(at) >= int64(len(m.units)) {
			continue
		}
		if from := int64(m.units[at] & (1<<31 - 1)); from < int64(len(m.texts)) {
			text, _, _ = strings.Cut(m.texts[from:], "\x00")
			length = i + 1
			if !longest {
				break
			}
		}
	}
	return text, length
}

// clusterRules implements Precompiled, as in Hugging Face's library. If a rule matches the
// beginning of a grapheme cluster of less than 6 bytes, its text replaces the whole cluster;
// otherwise the rules apply to single characters.
type clusterRules struct{ *charsmap }

func (c clusterRules) normalize(p passage, track bool) passage {
	w := rewrite(p, track)
	state := -1
	rest, at := p.text, 0
	for rest != "" {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if len(cluster) < 6 {
			if text, n := c.find(cluster, false); n > 0 {
				w.replace(at, at+len(cluster), text)
				at += len(cluster)
				continue
			}
		}
		for cluster != "" {
			_, size := utf8.DecodeRuneInString(cluster)
			if text, n := c.find(cluster[:size], false); n > 0 {
				w.replace(at, at+size, text)
			}
			cluster = cluster[size:]
			at += size
		}
	}
	return w.result()
}

// pieceRules is sentencepiece's own normalizer: the longest rule at each position, then the rules
// for spaces.
type pieceRules struct {
	rules  *charsmap   // nil if there are none
	user   *prefixTree // pieces that no rule may change
	prefix bool        // a space is put before the text
	suffix bool        // a space is put after the text
	tidy   bool        // remove spaces at the ends, and join others to one
	escape bool        // spaces become ▁
}

// next returns the replacement of the beginning of s, and the length of that beginning.
func (n *pieceRules) next(s string) (text string, length int) {
	if _, length = n.user.longest(s); length > 0 {
		return s[:length], length
	}
	if n.rules != nil {
		if text, length = n.rules.find(s, true); length > 0 {
			return text, length
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return "\uFFFD", 1
	}
	return s[:size], size
}

func (n *pieceRules) normalize(p passage, track bool) passage {
	at := 0
	for n.tidy && at < len(p.text) {
		text, size := n.next(p.text[at:])
		if text != " " {
			break
		}
		at += size
	}
	if at == len(p.text) {
		return p.slice(at, at)
	}
	space := " "
	if n.escape {
		space = "▁"
	}
	w := rewrite(p, track)
	w.replace(0, at, "")
	if n.prefix {
		w.replace(at, at, space)
	}
	afterSpace := n.tidy
	for at < len(p.text) {
		text, size := n.next(p.text[at:])
		if afterSpace {
			text = strings.TrimLeft(text, " ")
		}
		if text != "" {
			afterSpace = n.tidy && strings.HasSuffix(text, " ")
		}
		if n.escape {
			text = strings.ReplaceAll(text, " ", space)
		}
		if text != p.text[at:at+size] {
			w.replace(at, at+size, text)
		}
		at += size
	}
	p = w.result()
	for n.tidy && strings.HasSuffix(p.text, space) {
		p = p.slice(0, len(p.text)-len(space))
	}
	if n.suffix {
		w := rewrite(p, track)
		w.replace(len(p.text), len(p.text), space)
		p = w.result()
	}
	return p
}
