package schema

// Part: one way to read what comes next in a text of JSON; and frame: the object or array around
// it, with the properties that may come next.

import (
	"math"
	"slices"

	"picogpt/constrain/internal/automaton"
)

// A part is one way to read what comes next.
type part struct {
	kind  partKind
	space uint8  // white space that may still come before the part
	frame *frame // the container around the part
	value *value // partValue; in partColon, the value after it

	rest string // partWord: the bytes that are missing; others: those that the layout asks for before

	names  *[]int32 // partName: of frame.object, sorted; those from lo to hi begin like the text
	lo, hi int32    // or texts of partList and partNumberList
	at     int32    // bytes of them that were read

	str    *stringSpec // partString, partList, partOther
	string stringState
	raw    string // partOther: the bytes after the quote

	number *numberSpec // partNumber, partNumberList
	digits numberState
}

type partKind uint8

const (
	partDone       partKind = iota // the text is complete
	partValue                      // a value
	partWord                       // null, true or false
	partString                     // a string, after its quote
	partNumber                     // a number, after a byte of it
	partList                       // one of some strings, after its quote
	partNumberList                 // one of a list of numbers
	partKey                        // a name, before its quote
	partName                       // one of the known names, after its quote
	partOther                      // another name, after its quote
	partColon                      // :
	partAfter                      // , or the end of the container
	partEnd                        // the end of an empty container
)

// list returns the texts of a partList or partNumberList, sorted.
func (p *part) list() []string {
	if p.kind == partList {
		return p.str.escaped
	}
	return p.number.texts
}

// cost returns approximately the work for the next byte of a part, in visits of nodes.
func (p *part) cost() int {
	switch p.kind {
	case partValue:
		v := p.value
		return 1 + len(v.numbers) + len(v.strings) + 2*len(v.arrays) + 2*len(v.objects)
	case partKey:
		return 1 + len(p.frame.object.names)
	}
	return 1
}

// A byteSet has a bit for each byte.
type byteSet [4]uint64

func (s *byteSet) has(b byte) bool { return s[b>>6]>>(b&63)&1 != 0 }

func (s *byteSet) add(text string) {
	for i := range len(text) {
		s[text[i]>>6] |= 1 << (text[i] & 63)
	}
}

// bytesAfter returns a set with all bytes that may follow some parts, so that a walk passes over
// others quickly.
func bytesAfter(parts []part) (set byteSet) {
	const few = 16 // texts that are asked
	for i := range parts {
		p := &parts[i]
		if p.space > 0 {
			set.add(" \n\t")
		}
		switch known := p.hi-p.lo <= few; {
		case p.rest != "":
			set.add(p.rest[:1])
		case p.kind == partList && known:
			for _, text := range p.list()[p.lo:p.hi] {
				set.add((text + `"`)[p.at:][:1])
			}
		case p.kind == partName && known:
			for _, name := range (*p.names)[p.lo:p.hi] {
				set.add((p.frame.object.names[name].escaped + `"`)[p.at:][:1])
			}
		case p.kind == partKey:
			set.add(`"`)
		case p.kind == partColon:
			set.add(":")
		case p.kind == partAfter || p.kind == partEnd:
			set.add(",]}\n")
		case p.kind != partDone:
			return byteSet{math.MaxUint64, math.MaxUint64, math.MaxUint64, math.MaxUint64}
		}
	}
	return set
}

// distinctParts moves the parts that differ from all parts before them to the front, and returns
// their number.
func distinctParts(parts []part, work *int) (n int) {
	const few = 8
	var alike map[partLook][]int // used if there are many
	if len(parts) > few {
		alike = make(map[partLook][]int, len(parts))
	}
	for i := range parts {
		p := &parts[i]
		var before []int
		if alike != nil {
			before = alike[p.key()]
		}
		same := func(k int) bool { *work++; return parts[k].equal(*p) }
		switch {
		case alike != nil && slices.ContainsFunc(before, same):
			continue
		case alike == nil && slices.ContainsFunc(parts[:n], func(q part) bool { return q.equal(*p) }):
			continue
		}
		if alike != nil {
			alike[p.key()] = append(before, n)
		}
		parts[n] = *p
		n++
	}
	return n
}

// A partLook is a hash key: equal parts have equal ones.
type partLook struct {
	part
	object *objectSpec
	array  *arraySpec
	count  int32
}

func (p part) key() (k partLook) {
	if f := p.frame; f != nil {
		k.object, k.array, k.count = f.object, f.array, f.count
	}
	p.frame, p.names = nil, nil // which follow from the frame
	k.part = p
	return k
}

func (p part) equal(q part) bool {
	f, g := p.frame, q.frame
	p.frame, p.names, q.frame, q.names = nil, nil, nil, nil
	return p == q && f.equal(g)
}

// A frame is an open container. Frames are immutable.
type frame struct {
	up     *frame
	object *objectSpec
	array  *arraySpec
	deep   int   // containers, with those around it
	next   int32 // the first ordered name that may still come
	count  int32 // properties or items so far
	others int32 // number of names that are not known ones
	free   int32 // number of names without order so far
	used   *used // names without order and others, the newest first
	needed int32 // number of required names without order so far

	// in an array of unique items, see unique.go
	kept bool
	name string  // of the value that is read
	kids []*node // the values so far
	same []*node // what the container may become equal to

	tally int32 // items that were counted, or a bit for each kind of properties that must come
}

// used is a list of names.
type used struct {
	name string
	up   *used
}

// depth returns how many containers a frame and those around it are; nil is none.
func (f *frame) depth() int {
	if f == nil {
		return 0
	}
	return f.deep
}

func (f *frame) has(name string) bool {
	for u := f.used; u != nil; u = u.up {
		if u.name == name {
			return true
		}
	}
	return false
}

// equal reports whether two frames and all frames around them are the same.
func (f *frame) equal(g *frame) bool {
	for f != g {
		if f == nil || g == nil || f.object != g.object || f.array != g.array ||
			f.next != g.next || f.count != g.count || f.tally != g.tally {
			return false
		}
		for u, w := f.used, g.used; u != w; u, w = u.up, w.up {
			if u == nil || w == nil || u.name != w.name {
				return false
			}
		}
		same := func(u, w *node) bool { return u == w || u.name == w.name && u.text == w.text }
		if f.name != g.name || !slices.EqualFunc(f.kids, g.kids, same) {
			return false
		}
		f, g = f.up, g.up
	}
	return true
}

// feasible reports whether an object can be completed.
func (s *objectSpec) feasible(f *frame) bool {
	needed := s.neededFrom[f.next] + s.neededFree - int(f.needed)
	if s.somes > 0 {
		needed += s.cover(f)
		if needed >= automaton.Unbounded {
			return false
		}
	}
	if s.max >= 0 && int(f.count)+needed > s.max {
		return false
	}
	if int(f.count) >= s.min {
		return true
	}
	possible := s.possibleFrom[f.next] + s.possibleFree - int(f.free)
	if s.others != nil {
		possible += s.left(f)
	}
	return int(f.count)+possible >= s.min
}

// left returns how many other names are still possible.
func (s *objectSpec) left(f *frame) int {
	t := s.others.table
	if t == nil || t.Count[0] >= automaton.Unbounded {
		return automaton.Unbounded
	}
	return t.Count[0] - s.inOther - int(f.others)
}

// mayClose reports whether an object may end here.
func (s *objectSpec) mayClose(f *frame) bool {
	return int(f.count) >= s.min && s.neededFrom[f.next] == 0 && int(f.needed) == s.neededFree &&
		int(f.tally) == 1<<s.somes-1
}

// after returns the frame after a known name; ok is false if the name is not allowed, or if the
// object could not be completed after it. The list of used names does not contain the name yet.
func (f *frame) after(i int) (g frame, ok bool) {
	s := f.object
	n := &s.names[i]
	g = *f
	g.count++
	if i < s.ordered {
		if i < int(f.next) || s.neededFrom[f.next] != s.neededFrom[i] {
			return g, false
		}
		g.next = int32(i) + 1
	} else {
		if s.neededFrom[f.next] > 0 || f.has(n.name) {
			return g, false
		}
		g.next = int32(s.ordered)
		g.free++
		if n.required {
			g.needed++
		}
	}
	return g, n.value.possible && (s.feasible(&g) || slices.ContainsFunc(n.claims, func(m claim) bool {
		_, ok := f.claims(g, m)
		return ok
	}))
}

// claims returns the frame after a property of some kinds, given that after one of none; ok is
// false if the object could not be completed after it.
func (f *frame) claims(after frame, m claim) (g frame, ok bool) {
	if g = after; m.bits&^int(g.tally) == 0 {
		return g, false
	}
	g.tally |= int32(m.bits)
	return g, m.value.possible && f.object.feasible(&g)
}

// afterOther returns the frame after an unknown name, with the same ok.
func (f *frame) afterOther() (g frame, ok bool) {
	s := f.object
	if g = *f; s.others == nil || s.neededFrom[f.next] > 0 || s.left(f) <= 0 {
		return g, false
	}
	g.count++
	g.others++
	g.next = int32(s.ordered)
	return g, s.feasible(&g)
}

// afterClaimed is afterOther for a name of some kinds.
func (f *frame) afterClaimed(o *claimed) (g frame, ok bool) {
	g, _ = f.afterOther()
	if g.count == f.count || !o.open || o.bits&^int(f.tally) == 0 {
		return g, false
	}
	g.tally |= int32(o.bits)
	return g, f.object.feasible(&g)
}

// names returns the known names that may come next, sorted by their bytes.
func (f *frame) names() (list []int32) {
	for _, i := range f.object.sorted {
		if _, ok := f.after(int(i)); ok {
			list = append(list, i)
		}
	}
	return list
}

// mayContinue reports whether any name may come next.
func (f *frame) mayContinue() bool {
	if _, ok := f.afterOther(); ok {
		return true
	}
	for i := range f.object.claimed {
		if _, ok := f.afterClaimed(&f.object.claimed[i]); ok {
			return true
		}
	}
	return slices.ContainsFunc(f.object.sorted, func(i int32) bool {
		_, ok := f.after(int(i))
		return ok
	})
}
