package schema

// Part: one way to read what comes next in a text of JSON.

import (
	"math"
	"slices"
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

// text returns the i-th text of a partList or partNumberList, or name of a partName.
func (p *part) text(i int32) string {
	if p.kind == partName {
		return p.frame.object.names[(*p.names)[i]].escaped
	}
	return p.list()[i]
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
		case (p.kind == partList || p.kind == partName) && known:
			for k := p.lo; k < p.hi; k++ {
				set.add((p.text(k) + `"`)[p.at:][:1])
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
		if alike == nil {
			if slices.ContainsFunc(parts[:n], func(q part) bool { return q.equal(*p) }) {
				continue
			}
		} else {
			key := p.key()
			before := alike[key]
			if slices.ContainsFunc(before, func(k int) bool { *work++; return parts[k].equal(*p) }) {
				continue
			}
			alike[key] = append(before, n)
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
