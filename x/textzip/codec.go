package textzip

// Codecs: what a writer and a reader have in common, the model, and how a group is cut. A group's
// text becomes a payload by windows of all streams, evaluated as prompts are; a payload becomes the
// text by a token of each stream in turn, all in one Eval.

import (
	"bytes"
	"context"
	"fmt"
	"math/bits"
	"sync"

	"picogpt/checkpoint"
	"picogpt/internal/engine"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A codec turns groups of text into payloads of blocks, and back.
type codec struct {
	Header
	model     *model.Model
	tokenizer *tokenizer.Tokenizer
	bytes     [][]byte // of each id in a text; nil for ids that no text has
	start     int      // the token that a stream begins with

	rows sync.Pool // of *frequencies
}

// newCodec returns the codec of a model, which is of the checkpoint. Window, Overlap, Streams and
// Name of the header are left open.
func newCodec(c *checkpoint.Checkpoint, m *model.Model) (*codec, error) {
	k := &codec{model: m}
	vocab := m.Config().VocabSize
	k.rows.New = func() any { return newFrequencies(vocab) }
	k.Arithmetic, k.Format, k.Cache = engine.Arithmetic, m.Format(), m.CacheFormat()
	var err error
	if k.tokenizer, err = c.Tokenizer(); err != nil {
		return nil, err
	}
	if k.bytes, err = roundTrip(k.tokenizer); err != nil {
		return nil, err
	}
	config := m.Config()
	config.Generation = model.Generation{} // which the digest of the model does not cover
	var ok bool
	if k.start, ok = config.StartToken(); !ok {
		if k.start, ok = k.tokenizer.EndOfText(); !ok || k.start >= vocab {
			return nil, fmt.Errorf("bos_token_id and eos_token_id: none within the vocabulary of "+
				"%d, want one to begin texts with", vocab)
		}
	}
	if k.Model, err = c.Digest(); err != nil {
		return nil, err
	}
	k.Tokenizer, err = c.TokenizerDigest()
	return k, err
}

// roundTrip returns the bytes of each id, if a text's tokens have together the text's bytes,
// whatever they are.
func roundTrip(t *tokenizer.Tokenizer) ([][]byte, error) {
	each, err := t.Bytes()
	if err != nil {
		return nil, err
	}
	var all []byte
	for i := range 256 {
		all = append(all, byte(i))
	}
	all = append(all, "a  B É e\u0301 ﬁ\r\n <|endoftext|>"...)
	ids, err := t.Encode(string(all))
	if missing, _ := t.Missing(); err == nil && len(missing) > 0 {
		err = fmt.Errorf("the vocabulary has no token for %d of the 256 bytes", len(missing))
	} else if err == nil && !bytes.Equal(join(each, ids), all) {
		err = fmt.Errorf("texts do not come back from their tokens")
	}
	if err != nil {
		return nil, fmt.Errorf("tokenizer: %s, want byte-level BPE, from which any bytes come "+
			"back: %w", t.Kind(), err)
	}
	return each, nil
}

// join returns the bytes of ids.
func join(each [][]byte, ids []int) (text []byte) {
	for _, id := range ids {
		text = append(text, each[id]...)
	}
	return text
}

// cut returns the segments of a group.
func (k *codec) cut(text []byte) [][]byte {
	n := max(1, min(k.Streams, len(text)/leastSegment))
	segments := make([][]byte, n)
	for i := range segments {
		segments[i] = text[i*len(text)/n : (i+1)*len(text)/n]
	}
	return segments
}

// A window is a part of a stream that is evaluated at once.
type window struct {
	inputs  []int    // [≤ Window]
	targets []int    // predicted by the last inputs
	symbols []symbol // of the targets
}

// windows returns the windows of a stream's tokens. Symbols are written to symbols.
func (k *codec) windows(tokens []int, symbols []symbol) (all []window) {
	for from := 0; from < len(tokens); {
		begin, to := from-k.Overlap, from-k.Overlap+k.Window+1
		var inputs []int
		if from == 0 {
			to = min(k.Window, len(tokens))
			inputs = append([]int{k.start}, tokens[:to-1]...)
		} else {
			to = min(to, len(tokens))
			inputs = tokens[begin : to-1]
		}
		all = append(all, window{inputs, tokens[from:to], symbols[from:to]})
		from = to
	}
	return all
}

// encode returns the payload of a group, or nil if its tokens do not give it back, or as soon as
// they cost more than most bytes. done is called with the share that is evaluated.
func (k *codec) encode(
	ctx context.Context, text []byte, most int, done func(float64),
) ([]byte, error) {
	var streams [][]symbol
	var all []window
	tokens := 0
	for _, segment := range k.cut(text) {
		ids, err := k.tokenizer.Encode(string(segment))
		if err != nil || !bytes.Equal(join(k.bytes, ids), segment) {
			return nil, nil
		}
		symbols := make([]symbol, len(ids))
		streams = append(streams, symbols)
		all = append(all, k.windows(ids, symbols)...)
		tokens += len(ids)
	}
	evaluated, cost := 0, 0 // cost is in bits, each token's rounded down
	for len(all) > 0 {
		n, rows := 0, 0
		for ; n < len(all) && rows < engine.PassRows; n++ { // a pass at least, if there is as much
			rows += len(all[n].inputs)
			evaluated += len(all[n].targets)
		}
		if err := k.evaluate(ctx, all[:n]); err != nil {
			return nil, err
		}
		for _, w := range all[:n] {
			for _, s := range w.symbols {
				cost += bits.Len64(s.total/s.size) - 1
			}
		}
		if cost/8 > most {
			return nil, nil
		}
		all = all[n:]
		done(float64(evaluated) / float64(tokens))
	}
	return interleave(streams), nil
}

// evaluate computes the symbols of windows.
func (k *codec) evaluate(ctx context.Context, windows []window) error {
	batch := make([]model.Input, len(windows))
	for i, w := range windows {
		first := len(w.inputs) - len(w.targets)
		batch[i] = model.Input{
			Session: k.model.NewSession(), Tokens: w.inputs, NoLogits: true, VisitFrom: first,
			Visit: func(row model.Row) {
				f := k.rows.Get().(*frequencies)
				defer k.rows.Put(f)
				if f.set(k.model.Leaves(), row.Logits); f.total > 0 {
					w.symbols[row.Index-first] = f.symbol(w.targets[row.Index-first])
				}
			},
		}
	}
	defer func() {
		for _, in := range batch {
			in.Session.Release()
		}
	}()
	return model.Cause(k.model.Eval(ctx, batch...))
}

// interleave encodes the first symbol of each stream, then the second of each, and so on: the order
// in which a reader finds them.
func interleave(streams [][]symbol) []byte {
	e := newEncoder()
	for i, left := 0, true; left; i++ {
		left = false
		for _, s := range streams {
			if i < len(s) {
				e.encode(s[i])
				left = true
			}
		}
	}
	return e.end()
}

// A stream is a segment that is being read.
type stream struct {
	*frequencies
	text    []byte // of its tokens; it is as long as the segment in the end
	size    int    // bytes of the segment
	session *model.Session
	tokens  []int // the last ones, at least Overlap of them
	next    []int // to evaluate
}

// decode returns the text of a payload: n bytes, or an error. done is called with the bytes that
// are read.
func (k *codec) decode(
	ctx context.Context, payload []byte, n int, done func(int),
) (text []byte, err error) {
	text = make([]byte, n)
	var streams, active []*stream
	for _, segment := range k.cut(text) {
		streams = append(streams, &stream{
			frequencies: newFrequencies(k.model.Config().VocabSize), text: segment[:0],
			size: len(segment), session: k.model.NewSession(), next: []int{k.start},
		})
	}
	defer func() {
		for _, s := range streams {
			s.session.Release()
		}
	}()
	active = append(active, streams...)
	in := newDecoder(payload)
	for read := 0; len(active) > 0; {
		if err := k.step(ctx, active); err != nil {
			return nil, err
		}
		left := active[:0]
		for _, s := range active {
			before := len(s.text)
			if err := k.take(s, in); err != nil {
				return nil, err
			}
			read += len(s.text) - before
			if len(s.text) < s.size {
				left = append(left, s)
			}
		}
		active = left
		done(read)
	}
	return text, nil
}

// step evaluates the next tokens of all streams.
func (k *codec) step(ctx context.Context, streams []*stream) error {
	batch := make([]model.Input, len(streams))
	for i, s := range streams {
		batch[i] = model.Input{
			Session: s.session, Tokens: s.next, NoLogits: true, VisitFrom: len(s.next) - 1,
			Visit: func(row model.Row) { s.set(k.model.Leaves(), row.Logits) },
		}
	}
	return model.Cause(k.model.Eval(ctx, batch...))
}

// take appends the next token of a stream.
func (k *codec) take(s *stream, in *decoder) error {
	value := in.value(s.total)
	if value >= s.total {
		return damaged("the payload is no text's")
	}
	id, symbol := s.find(value)
	if id >= len(k.bytes) || len(k.bytes[id]) == 0 || len(k.bytes[id]) > s.size-len(s.text) {
		return damaged("the payload is no text's")
	}
	in.take(symbol)
	s.text = append(s.text, k.bytes[id]...)
	if len(s.tokens) >= 2*k.Overlap {
		s.tokens = append(s.tokens[:0], s.tokens[len(s.tokens)-k.Overlap+1:]...)
	}
	s.tokens = append(s.tokens, id)
	s.next = append(s.next[:0], id)
	if s.session.Len() == k.Window {
		s.session.Release()
		s.session = k.model.NewSession()
		s.next = append(s.next[:0], s.tokens[len(s.tokens)-k.Overlap:]...)
	}
	return nil
}
