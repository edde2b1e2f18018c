// Byte-pair encoding of a piece that arrives part by part, in memory that does not grow with it.
// Parts are the ids of bytes or characters; lengths count parts.
//
// Let e(i) be the encoding of a piece's first i parts, and t its last token. Then
//
//   - e(i) is e(i − len(t)) followed by t. Wherever an encoding has a border, no merge has
//     crossed it, so the merges on each side were those of that side alone.
//   - t is the only token with two properties: the i parts end with it, and its border with
//     the last token of e(i − len(t)) stays ([borders]). Tokens are the encoding of their
//     parts if each two neighbours are: the first merge to cross a border would be the same without
//     the other tokens.
//
// Both hold for any list of merges. So it is enough to store the last token of each e(i) for as
// many parts as the longest token has and, for the ids, to go back from token to token. The tokens
// that the encodings of all the newest prefixes have in common are in every encoding of the piece,
// whatever follows: they are emitted and dropped. (GitHub's crate bpe encodes like this,
// github.com/github/rust-gems, for merges in the order of training; files may have others.)

package tokenizer

import (
	"slices"
)

// A longPiece is the state of encoding one piece.
type longPiece struct {
	*borders
	matcher *matcher
	longest int // parts of the longest token
	keep    int // how many of the newest ids are needed

	size  int      // parts so far
	node  uint32   // of the matcher
	first int      // last[0] is of e(first+1)
	last  []uint32 // the last token of e(first+1), …, e(size)
	count []int    // [power of two] tokens in e(i), for the newest i, by i modulo the length

	border  int // all tokens up to here were emitted
	settled int // their number
	next    int // size at which to search for a later border

	guesses [1 << 10]tokenGuess
	tried   int // tokens

	live []bool // scratch
	back []int  // scratch
}

func newLongPiece(s *spelling, m *matcher, keep int) *longPiece {
	n := 1
	for n <= s.most {
		n *= 2
	}
	return &longPiece{borders: newBorders(s), matcher: m, longest: s.most, keep: keep,
		count: make([]int, n)}
}

// begin prepares the longPiece for the next piece.
func (p *longPiece) begin() {
	p.size, p.node, p.first, p.last = 0, 0, 0, p.last[:0]
	p.border, p.settled, p.next = 0, 0, 4*p.longest
	p.count[0] = 0
}

// add appends a part, and emits the tokens that have become certain.
func (p *longPiece) add(part uint32, to *newest) {
	p.node = p.matcher.step(p.node, part)
	p.size++
	token := p.lastToken()
	p.last = append(p.last, token)
	*p.countAt(p.size) = *p.countAt(p.size - p.length(token)) + 1
	if p.size == p.next {
		p.settle(to)
	}
}

// countAt returns a pointer to the number of tokens in e(i), for one of the newest i.
func (p *longPiece) countAt(i int) *int { return &p.count[i&(len(p.count)-1)] }

// lastToken returns the last token of e(size), which `last` does not have yet. In runs of one sign,
// of which a vocabulary may have dozens of tokens, it is most often the one that followed the same
// two at the same node before, and only one token can be it: that one is tried first.
func (p *longPiece) lastToken() uint32 {
	var before [2]uint32
	copy(before[:], p.last[max(0, len(p.last)-2):])
	g := &p.guesses[(p.node*0x9e3779b1^before[0]*0x85ebca6b^before[1]*0xc2b2ae35)>>(32-10)]
	if g.node == p.node && g.before == before && p.isLast(g.token) {
		return g.token
	}
	for node := p.matcher.longest[p.node]; ; node = p.matcher.longest[p.matcher.fail[node]] {
		if token := p.matcher.token[node]; p.isLast(token) {
			*g = tokenGuess{p.node, token, before}
			return token
		}
	}
}

// A tokenGuess is a token that was the last one, at a node that is not 0, when those were the last
// ones for two parts less and for one.
type tokenGuess struct {
	node, token uint32
	before      [2]uint32
}

// isLast reports whether a token, with which the parts end, is the last of e(size).
func (p *longPiece) isLast(token uint32) bool {
	p.tried++
	if !p.occurs(token) {
		return false
	}
	before := p.size - p.length(token)
	return before == 0 || p.separate(p.last[before-p.first-1], token)
}

// parent returns the index at which the last token of e(i) begins.
func (p *longPiece) parent(i int) int { return i - p.length(p.last[i-p.first-1]) }

// settle emits the certain tokens, and drops what is no longer needed.
func (p *longPiece) settle(to *newest) {
	p.emit(p.commonBorder(), to)
	needed := min(p.border, p.size-p.longest)
	if (p.size-needed)/(2*p.longest) > p.keep {
		// the encodings have nothing in common: take no more than can be needed
		needed = p.size - p.longest*(p.keep+1)
	}
	p.last = p.last[:copy(p.last, p.last[needed-p.first:])]
	p.first = needed
	p.next = p.size + max(4*p.longest, len(p.last))
}

// commonBorder returns the last border that the encodings of all the newest prefixes have, as many
// as the longest token has parts, or the old border. The encodings are paths back from border to
// border: it follows all of them together, from right to left, until only one is left.
func (p *longPiece) commonBorder() int {
	end := max(p.border, p.first)
	oldest := p.size - p.longest + 1
	paths := p.longest
	p.live = slices.Grow(p.live[:0], p.size-end+1)[:p.size-end+1] // by border − end
	clear(p.live)
	for i := oldest; i <= p.size; i++ {
		p.live[i-end] = true
	}
	for i := p.size; i > end; i-- {
		if !p.live[i-end] {
			continue
		}
		if paths == 1 {
			return i
		}
		parent := p.parent(i)
		if parent < end {
			break // earlier ones are no longer stored
		}
		if p.live[parent-end] {
			paths--
		}
		p.live[parent-end] = true
	}
	return p.border
}

// emit appends the tokens up to a border that is certain. Those that are no longer stored are too
// old to be needed.
func (p *longPiece) emit(border int, to *newest) {
	p.back = p.back[:0]
	count := *p.countAt(p.size)
	for i := p.size; i > border; i = p.parent(i) {
		count--
	}
	for i := border; i > max(p.border, p.first); i = p.parent(i) {
		p.back = append(p.back, int(p.last[i-p.first-1]))
	}
	to.skip(count - p.settled - len(p.back))
	slices.Reverse(p.back)
	to.add(p.back)
	p.border, p.settled = border, count
}

// end emits all tokens that are left.
func (p *longPiece) end(to *newest) { p.emit(p.size, to) }

// atLeast returns a number of tokens that are not emitted yet and that the piece is certain to
// have, whatever follows: one of the newest borders is in its encoding.
func (p *longPiece) atLeast() int {
	least := *p.countAt(p.size)
	for i := max(0, p.size-p.longest+1); i < p.size; i++ {
		least = min(least, *p.countAt(i))
	}
	return max(0, least-p.settled)
}

// A stage is the part at one end of a token, at some time while the token's own parts are merged.
type stage struct {
	part uint32 // the part at this end
	most uint32 // the highest rank of the merges until this part grows; none for the whole token
}

// ends are the stages of both ends of a token, from a single part to the whole. Both are nil for a
// token that merging its own parts does not give: no encoding contains it.
type ends struct {
	known       bool
	left, right []stage
}

// borders decides whether byte-pair encoding leaves two neighbouring tokens apart. It caches its
// results, so that only one goroutine may use it.
//
// Two tokens u, v are the encoding of their parts if no merge ever crosses the border between them.
// Until one does, the merges inside u happen in the order of encoding u alone, and those inside v
// likewise. Of the next merge in u and the next in v, the one of lower rank happens first, or u's
// if the ranks are equal. So the stages of u's right end and of v's left end pass in the order of
// the highest rank that each end has had so far. While the ends are x and y, the merge of x and y,
// if there is one, happens before both ends have grown if and only if its rank is lower than the
// highest that is still to come in u's stage, and not higher than that in v's.
type borders struct {
	*spelling
	ends []ends // by token
	seen [1 << 14]struct{ u, v, open uint32 }
}

func newBorders(s *spelling) *borders {
	b := &borders{spelling: s, ends: make([]ends, len(s.start)-1)}
	for i := range b.seen {
		b.seen[i].u = none
	}
	return b
}

// occurs reports whether the token is the encoding of its own parts.
func (b *borders) occurs(id uint32) bool { return b.endsOf(id).left != nil }

// separate reports whether u and v, which both occur, are the encoding of their parts together.
func (b *borders) separate(u, v uint32) bool {
	slot := &b.seen[(u*0x9e3779b1^v*0x85ebca6b)>>(32-14)]
	if slot.u != u || slot.v != v {
		slot.u, slot.v, slot.open = u, v, 0
		if b.crossed(u, v) {
			slot.open = 1
		}
	}
	return slot.open == 0
}

func (b *borders) crossed(u, v uint32) bool {
	right, left := b.endsOf(u).right, b.endsOf(v).left
	i, j := 0, 0
	mostU, mostV := right[0].most, left[0].most // so far
	for {
		x, y := right[i], left[j]
		if rank := b.pairs.rank(x.part, y.part); rank < x.most && rank <= y.most && rank != none {
			return true
		}
		switch {
		case x.most == none && y.most == none:
			return false
		case mostU <= mostV:
			i++
			mostU = max(mostU, right[i].most)
		default:
			j++
			mostV = max(mostV, left[j].most)
		}
	}
}

// endsOf returns the ends of a token.
func (b *borders) endsOf(id uint32) *ends {
	e := &b.ends[id]
	if !e.known {
		*e = b.watch(id)
	}
	return e
}

// watch merges a token's parts and records how its ends grow.
func (b *borders) watch(id uint32) ends {
	parts := b.of(id)
	m := b.newMerging(len(parts), func(i int) uint32 { return parts[i] })
	last := len(parts) - 1
	left := []stage{{part: m.list[0].part}}
	right := []stage{{part: m.list[last].part}}
	for {
		rank, at, ok := m.next()
		if !ok {
			break
		}
		l, r := &left[len(left)-1], &right[len(right)-1]
		l.most, r.most = max(l.most, rank), max(r.most, rank)
		if at == 0 {
			left = append(left, stage{part: m.list[0].part})
		}
		if int(m.list[at].next) == len(parts) {
			right = append(right, stage{part: m.list[at].part})
		}
	}
	if int(m.list[0].next) != len(parts) || m.list[0].part != id {
		return ends{known: true}
	}
	left[len(left)-1].most, right[len(right)-1].most = none, none
	return ends{known: true, left: left, right: right}
}
