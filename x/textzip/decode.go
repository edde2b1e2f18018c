package textzip

// A payload to the group's text: a token of each stream in turn, all in one Eval.

import (
	"context"

	"picogpt/model"
)

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
