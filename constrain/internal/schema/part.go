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

	rest string // bytes before the part: a quote, or what the layout asks for

	texts  *[]string // partList, partName: as in JSON, sorted
	lo, hi int32     // those from lo to hi begin like the text
	at     int32     // bytes of them that were read

	str    *stringSpec // partString, partOther
	string stringState
	raw    string // partOther: the bytes after the quote

	number *numberSpec // partNumber
	digits numberState
}

type partKind uint8

const (
	partDone   partKind = iota // the text is complete
	partValue                  // a value
	partString                 // a string, after its quote
	partNumber                 // a number
	partList                   // one of some scalars
	partKey                    // a name, before its quote
	partName                   // one of the known names, after its quote
	partOther                  // another name, after its quote
	partColon                  // :
	partAfter                  // , or the end of the container
	partEnd                    // the end of an empty container
)

// complete reports whether the text may end at one of some parts.
func complete(parts []part) bool {
	return slices.ContainsFunc(parts, func(p part) bool {
		return p.frame == nil && (p.kind == partDone || p.ends())
	})
}

// numbers reports whether a part is a number, or one of some.
func (p *part) numbers() bool {
	return p.kind == partNumber || p.kind == partList && p.text(p.lo)[0] < 'a' && p.text(p.lo)[0] != '"'
}

// begins reports whether a scalar may begin with a byte.
func (p *part) begins(b byte) bool {
	switch {
	case p.rest != "":
		return p.rest[0] == b
	case p.numbers():
		return b == '-' || isDigit(b)
	}
	return p.text(0)[0] == b
}

// text returns the i-th text of a partList or a partName.
func (p *part) text(i int32) string { return (*p.texts)[i] }

// cost returns approximately the work for the next byte of a part, in visits of nodes.
func (p *part) cost() int {
	switch p.kind {
	case partValue:
		v := p.value
		return 1 + len(v.scalars) + 2*len(v.arrays) + 2*len(v.objects)
	case partKey:
		return 1 + len(p.frame.object.names)
	case partAfter, partName, partOther:
		return 1 + len(p.frame.several)
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
		switch {
		case p.rest != "":
			set.add(p.rest[:1])
		case (p.kind == partList || p.kind == partName) && p.hi-p.lo <= few && !p.numbers():
			for k := p.lo; k < p.hi; k++ {
				set.add(p.text(k)[p.at:][:1])
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

// few is a number of parts from which on they are joined.
const few = 8

// distinctParts moves the parts that differ from all parts before them to the front, and returns
// their number. Many parts of a value that differ only in what it is in become one.
func distinctParts(parts []part, work *int) (n int) {
	if len(parts) <= few {
		for _, p := range parts {
			if !slices.ContainsFunc(parts[:n], func(q part) bool { return q.equal(p) }) {
				parts[n] = p
				n++
			}
		}
		return n
	}
	alike, around := make(map[partLook][]int, len(parts)), map[int][]*frame{}
	texts := fewTexts(parts, work)
	for _, p := range parts {
		joins := p.joins() && (texts == nil || p.kind != partName)
		key := p.key(joins)
		before := alike[key]
		switch {
		case joins:
			if i := slices.IndexFunc(before, func(k int) bool { return parts[k].reads(p) }); i >= 0 {
				around[before[i]] = append(around[before[i]], p.frame)
				continue
			}
		case slices.ContainsFunc(before, func(k int) bool { *work++; return parts[k].equal(p) }):
			continue
		}
		alike[key] = append(before, n)
		parts[n] = p
		n++
	}
	for k, frames := range around {
		parts[k].frame = together(slices.Insert(frames, 0, parts[k].frame), work)
	}
	if texts != nil {
		n = byText(parts[:n], texts)
	}
	return n
}

// fewTexts returns numbers of the names of parts of known names, if these are fewer than the parts.
func fewTexts(parts []part, work *int) map[string]int {
	texts, count := map[string]int{}, 0
	for i := range parts {
		if p := &parts[i]; p.kind == partName && p.joins() {
			*work += int(p.hi-p.lo) / 4
			for k := p.lo; k < p.hi; k++ {
				if t := p.text(k); texts[t] == 0 {
					texts[t] = 1 + len(texts)
				}
			}
			count++
		}
	}
	if len(texts) >= count {
		return nil
	}
	return texts
}

// byText makes parts of known names one part for each name, and returns the number of parts.
func byText(parts []part, texts map[string]int) int {
	named, frames := make([]part, len(texts)), make([][]*frame, len(texts))
	parts = slices.DeleteFunc(parts, func(p part) bool {
		is := p.kind == partName && p.joins()
		for k := p.lo; is && k < p.hi; k++ {
			q, i := p, texts[p.text(k)]-1
			q.lo, q.hi = k, k+1
			if frames[i] == nil {
				named[i] = q // its names are those of the first frame
			}
			frames[i] = append(frames[i], p.frame.each()...)
		}
		return is
	})
	for i, p := range named {
		if len(frames[i]) > 1 {
			p.frame = &frame{several: frames[i], deep: p.frame.deep}
		}
		parts = append(parts, p)
	}
	return len(parts)
}

// joins reports whether a part does not depend on its frame, until its value or name ends.
func (p *part) joins() bool {
	switch p.kind {
	case partValue, partString, partNumber, partList, partColon, partName:
		return p.frame != nil && !p.frame.keeps()
	case partOther:
		return !p.frame.keeps() && (p.frame.several != nil ||
			p.str.table == nil && p.str == p.frame.object.other())
	}
	return false
}

// alone returns the parts of a name that one with several frames stands for.
func (p *part) alone() (list []part) {
	for _, f := range p.frame.each() {
		q := *p
		if q.frame = f; p.kind == partOther {
			q.str = f.object.other()
		}
		list = append(list, q)
	}
	return list
}

// A partLook is a hash key: equal parts have equal ones.
type partLook struct {
	part // without its frame
	frameLook
}

func (p *part) key(joins bool) partLook {
	k := partLook{part: *p}
	if k.frame = nil; p.kind == partName {
		k.texts = nil
	}
	switch {
	case !joins && p.frame != nil:
		k.frameLook = p.frame.look()
	case p.kind == partName:
		k.raw, k.lo, k.hi = p.text(p.lo), 0, p.hi-p.lo
	case p.kind == partOther:
		k.str = nil
	}
	return k
}

// reads reports whether a part is another one, but for the frame.
func (p part) reads(q part) bool {
	switch p.kind {
	case partName:
		for i := range p.hi - p.lo {
			if p.text(p.lo+i) != q.text(q.lo+i) {
				return false
			}
		}
		p.texts, p.lo, p.hi = q.texts, q.lo, q.hi
	case partOther:
		if p.str.escapes != q.str.escapes {
			return false
		}
		p.str = q.str
	}
	p.frame = q.frame
	return p == q
}

func (p part) equal(q part) bool {
	f, g := p.frame, q.frame
	if p.frame, q.frame = nil, nil; p.kind == partName { // the names follow from the frame
		p.texts, q.texts = nil, nil
	}
	return p == q && f.equal(g)
}
