// Encoding a text that arrives in parts, in memory that does not grow with it.

package tokenizer

import "math"

// An Encoder encodes a text that is written to it in parts. It keeps the newest ids and counts the
// others. The ids are those of [Tokenizer.Encode] for the whole text, wherever the parts end.
//
// For byte-level BPE without normalizers, such as GPT-2's, the memory depends on the vocabulary and
// on the number of ids that it keeps, not on the text. For other vocabularies it holds the text.
type Encoder struct {
	t       *Tokenizer
	added   *addedTokens  // all of them, if chunk is not nil
	chunk   *pieceEncoder // nil: the whole text is pending up to its end
	ids     newest
	pending []byte
	pause   func() error
	err     error
}

// NewEncoder returns an Encoder that keeps the newest keep ids; keep is at least 1.
func (t *Tokenizer) NewEncoder(keep int) *Encoder {
	keep = max(1, keep)
	e := &Encoder{t: t, ids: newest{keep: keep}, added: t.raw}
	if t.normal.any {
		e.added = t.normal
	}
	if t.level != nil && t.level.spells() && !t.prompt && !e.added.odd && !(t.raw.any && t.normal.any) {
		e.chunk = t.level.chunks(keep)
	}
	return e
}

// OnStep sets what [Encoder.End] asks between the steps of its work, where that was not done by
// Write: an error ends the encoding. It may be nil.
func (e *Encoder) OnStep(pause func() error) { e.pause = pause }

// Write takes the next part of the text. It returns no error: End returns that of Encode.
func (e *Encoder) Write(part []byte) (int, error) {
	if e.chunk == nil {
		e.pending = append(e.pending, part...)
	} else {
		e.write(string(part), false)
	}
	return len(part), nil
}

// AtLeast returns a number of tokens that the text is certain to have, whatever follows.
func (e *Encoder) AtLeast() int {
	if e.chunk == nil {
		return e.ids.total
	}
	return e.ids.total + e.chunk.atLeast()
}

// Take returns the ids that are certain and were kept, in order, and removes them.
func (e *Encoder) Take() []int { return e.ids.take() }

// End ends the text. It returns the newest ids that were not taken, in order, and the number of ids
// of the whole text.
func (e *Encoder) End() (ids []int, total int, err error) {
	if e.chunk != nil {
		e.write("", true)
	} else if e.err == nil {
		all := encoded{ids: make([]int, 0, len(e.pending)/4+1), pause: e.pause}
		e.err = e.t.encode(&all, string(e.pending))
		e.ids.add(all.ids)
		e.pending = nil
	}
	if e.err != nil {
		return nil, 0, e.err
	}
	return e.ids.all(), e.ids.total, nil
}

// write finds the added tokens in the pending text and in part. It leaves the end of it pending if
// that may be the beginning of an added token.
func (e *Encoder) write(part string, last bool) {
	text := string(e.pending) + part
	for {
		i, token := -1, addedToken{}
		certain := len(text)
		if e.t.asked || e.added.always {
			if !last {
				certain = max(0, len(text)-max(0, e.added.longest-1))
			}
			i, token = e.added.find(text, certain, e.t.asked)
		}
		if i >= 0 {
			certain = i
		}
		if certain > 0 {
			e.chunk.write(text[:certain], &e.ids)
		}
		text = text[certain:]
		if i < 0 {
			break
		}
		e.chunk.end(&e.ids)
		e.ids.add([]int{token.id})
		text = text[len(token.text):]
	}
	if e.pending = append(e.pending[:0], text...); last {
		e.chunk.end(&e.ids)
	}
}

// everyID is larger than the number of ids of any text.
const everyID = math.MaxInt

// newest holds the newest ids of a sequence, at most keep, and the number of all ids.
type newest struct {
	keep  int
	total int
	ids   []int // a ring buffer when it is full
	next  int   // the index of the next id when the ring is full
}

func (n *newest) add(ids []int) {
	n.total += len(ids)
	for _, id := range ids[max(0, len(ids)-n.keep):] {
		if len(n.ids) < n.keep {
			n.ids = append(n.ids, id)
			continue
		}
		n.ids[n.next] = id
		if n.next++; n.next == n.keep {
			n.next = 0
		}
	}
}

// skip counts ids that are not known. At least keep others must follow.
func (n *newest) skip(count int) { n.total += count }

// take returns all ids that were kept, and removes them.
func (n *newest) take() []int {
	all := n.all()
	n.ids, n.next = n.ids[:0], 0
	return all
}

func (n *newest) all() []int {
	return append(append(make([]int, 0, len(n.ids)), n.ids[n.next:]...), n.ids[:n.next]...)
}
