// Byte-pair encoding of one piece: the adjacent pair whose merge has the lowest rank is merged, the
// leftmost of equal ones first, until no pair can be merged. Two implementations give the same ids:
// a plain one for the short pieces of ordinary text, and one in O(n log n), so that a line of a
// million letters does not take too long.

package tokenizer

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
)

// none stands for the absence of an id or of a rank.
const none = math.MaxUint32

// A pairTable maps two ids to the rank of their merge. It is a hash table with open addressing.
// Adding a pair takes about 20 ns, so that GPT-2's 50,000 merges are ready a millisecond after the
// start.
type pairTable struct {
	slots []pairSlot // a power of two, at most half full
	shift int        // 64 − log2(len(slots))
	// odd and random, so that no file can be made to collide; results do not depend on it
	mix uint64
}

type pairSlot struct {
	left, right uint32
	next        uint32 // rank + 1; 0 means that the slot is free
}

// newPairTable returns a table with room for n pairs.
func newPairTable(n int) pairTable {
	log := bits.Len(uint(2*n + 1))
	return pairTable{slots: make([]pairSlot, 1<<log), shift: 64 - log, mix: rand.Uint64() | 1}
}

// slot returns the slot of the pair, or the free slot where it would be inserted.
func (p *pairTable) slot(left, right uint32) *pairSlot {
	mask := len(p.slots) - 1
	for i := p.home(left, right); ; i++ {
		s := &p.slots[i&mask]
		if s.next == 0 || s.left == left && s.right == right {
			return s
		}
	}
}

// home returns where the search for a pair begins.
func (p *pairTable) home(left, right uint32) int {
	return int((uint64(left)<<32 | uint64(right)) * p.mix >> p.shift)
}

// touch reads where the search for a pair begins, so that it is in the cache then.
func (p *pairTable) touch(left, right uint32) uint32 {
	return p.slots[p.home(left, right)&(len(p.slots)-1)].next
}

// set sets the rank of a pair; a later call replaces an earlier one.
func (p *pairTable) set(left, right, rank uint32) {
	*p.slot(left, right) = pairSlot{left: left, right: right, next: rank + 1}
}

// rank returns the rank of the pair's merge, or none.
func (p *pairTable) rank(left, right uint32) uint32 {
	return p.slot(left, right).next - 1 // 0 in a free slot gives none
}

// inOrder returns the pairs in the order of their ranks.
func (p *pairTable) inOrder() []pairSlot {
	used := slices.DeleteFunc(slices.Clone(p.slots), func(s pairSlot) bool { return s.next == 0 })
	slices.SortFunc(used, func(a, b pairSlot) int { return int(a.next) - int(b.next) })
	return used
}

// shortPiece is the length up to which comparing all pairs for each merge is faster than a heap.
const shortPiece = 64

// merges are the merges of a vocabulary.
type merges struct {
	pairs  pairTable // which two ids merge, and when
	merged []uint32  // the id that the merge of each rank gives
}

func newMerges(n int) merges { return merges{newPairTable(n), make([]uint32, n)} }

// short merges the first n parts, at most shortPiece, in place, and returns how many are left. If
// counts is not nil, the counts of merged parts are added.
func (m *merges) short(part, counts *[shortPiece]uint32, n int) int {
	var rank [shortPiece]uint32 // rank[i]: of the merge of parts i and i+1
	for i := range n - 1 {
		rank[i] = m.pairs.rank(part[i], part[i+1])
	}
	for n > 1 {
		best, at := uint32(none), 0
		for i, r := range rank[:n-1] {
			if r < best {
				best, at = r, i
			}
		}
		if best == none {
			break
		}
		part[at] = m.merged[best]
		copy(part[at+1:n], part[at+2:n])
		copy(rank[at:n-1], rank[at+1:n-1])
		if counts != nil {
			counts[at] += counts[at+1]
			copy(counts[at+1:n], counts[at+2:n])
		}
		n--
		if at > 0 {
			rank[at-1] = m.pairs.rank(part[at-1], part[at])
		}
		if at < n-1 {
			rank[at] = m.pairs.rank(part[at], part[at+1])
		}
	}
	return n
}

// A merging is the state of encoding one piece. The part that begins at byte i of the piece, or
// with character i, is entry i of the list.
type merging struct {
	*merges
	list  []link
	queue mergeQueue
}

// A link is one part. Its rank is that of the merge with the next part, or none. An entry of the
// queue with another rank is outdated.
type link struct {
	part, rank uint32
	prev, next int32 // next is the length of the list at its end
}

// newMerging returns a merging of n parts, before the first merge.
func (m *merges) newMerging(n int, part func(i int) uint32) *merging {
	g := &merging{merges: m, list: make([]link, n)}
	for i := range g.list {
		g.list[i] = link{part: part(i), rank: none, prev: int32(i - 1), next: int32(i + 1)}
	}
	for i := range len(g.list) - 1 {
		rank := m.pairs.rank(g.list[i].part, g.list[i+1].part)
		g.list[i].rank = rank
		if rank != none {
			g.queue.first = append(g.queue.first, merge(rank, i))
		}
	}
	slices.Sort(g.queue.first)
	return g
}

// many merges n parts, however many they are. It calls emit with each token and the parts from to
// to that it has.
func (m *merges) many(n int, part func(i int) uint32, emit func(token uint32, from, to int)) {
	g, more := m.newMerging(n, part), true
	for more {
		_, _, more = g.next()
	}
	for i := 0; i < n; i = int(g.list[i].next) {
		emit(g.list[i].part, i, int(g.list[i].next))
	}
}

// next does the next merge. It returns its rank and the index of the part that it makes; ok is
// false if no merge is left.
func (m *merging) next() (rank uint32, at int32, ok bool) {
	for !m.queue.empty() {
		rank, i := m.queue.pop()
		l := &m.list[i]
		if l.rank != rank {
			continue
		}
		gone := &m.list[l.next]
		gone.rank = none
		l.part = m.merged[rank]
		l.next = gone.next
		if int(l.next) < len(m.list) {
			m.list[l.next].prev = i
		}
		m.renew(i)
		if l.prev >= 0 {
			m.renew(l.prev)
		}
		return rank, i, true
	}
	return 0, 0, false
}

// renew updates the merge of a part with the next one.
func (m *merging) renew(i int32) {
	l := &m.list[i]
	l.rank = none
	if int(l.next) < len(m.list) {
		if l.rank = m.pairs.rank(l.part, m.list[l.next].part); l.rank != none {
			m.queue.push(merge(l.rank, int(i)))
		}
	}
}

// A mergeQueue holds the possible merges, each as rank<<32 | position: the lowest rank first, the
// leftmost of equal ones. The merges that are possible at the start are sorted once, which costs
// almost nothing for a run of one letter. Later ones go into a heap, whose entries have four
// children each, so that the children of one lie in one or two cache lines. (container/heap takes
// three times as long, because it calls through an interface.)
type mergeQueue struct {
	first []uint64 // in order
	heap  []uint64
}

func merge(rank uint32, at int) uint64 {
	return uint64(rank)<<32 | uint64(at)
}

func (q *mergeQueue) empty() bool {
	return len(q.first) == 0 && len(q.heap) == 0
}

func (q *mergeQueue) push(m uint64) {
	q.heap = append(q.heap, m)
	h := q.heap
	i := len(h) - 1
	for i > 0 && h[(i-1)/4] > m {
		h[i] = h[(i-1)/4]
		i = (i - 1) / 4
	}
	h[i] = m
}

func (q *mergeQueue) pop() (rank uint32, at int32) {
	var m uint64
	if len(q.heap) == 0 || len(q.first) > 0 && q.first[0] < q.heap[0] {
		m = q.first[0]
		q.first = q.first[1:]
	} else {
		m = q.heap[0]
		last := len(q.heap) - 1
		moved := q.heap[last]
		q.heap = q.heap[:last]
		if last > 0 {
			siftDown(q.heap, moved)
		}
	}
	return uint32(m >> 32), int32(uint32(m))
}

// siftDown inserts m into a heap whose top is free.
func siftDown(h []uint64, m uint64) {
	i := 0
	for 4*i+1 < len(h) {
		child := 4*i + 1
		for c := child + 1; c < min(4*i+5, len(h)); c++ {
			if h[c] < h[child] {
				child = c
			}
		}
		if h[child] >= m {
			break
		}
		h[i] = h[child]
		i = child
	}
	h[i] = m
}
