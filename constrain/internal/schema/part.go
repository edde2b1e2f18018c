package schema

// Part: one way to read what comes next in a text of JSON.

import "slices"

// A part is one way to read what comes next.
type part struct {
	kind  partKind
	space uint8  // white space that may still come before the part
	frame *frame // the container around the part
	value *value // partValue; in partColon, the value after it

	rest string // partWord: the bytes that are missing

	list   []string // partList: texts, sorted; those from lo to hi begin like the text
	names  []int32  // partName: names of frame.object, in the same way
	lo, hi int32
	at     int32 // bytes of them that were read

	str    *stringSpec // partString, partOther
	string stringState
	raw    string // partOther: the bytes after the quote

	number *numberSpec
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
	kind       partKind
	space      uint8
	value      *value
	str        *stringSpec
	string     stringState
	number     *numberSpec
	digits     numberState
	object     *objectSpec
	array      *arraySpec
	count      int32
	lo, hi, at int32
	rest, raw  string
}

func (p *part) key() partLook {
	k := partLook{kind: p.kind, space: p.space, value: p.value, str: p.str, string: p.string,
		number: p.number, digits: p.digits, lo: p.lo, hi: p.hi, at: p.at, rest: p.rest, raw: p.raw}
	if f := p.frame; f != nil {
		k.object, k.array, k.count = f.object, f.array, f.count
	}
	return k
}

func (p part) equal(q part) bool {
	return p.kind == q.kind && p.space == q.space && p.value == q.value && p.rest == q.rest &&
		p.lo == q.lo && p.hi == q.hi && p.at == q.at && p.str == q.str && p.string == q.string &&
		p.raw == q.raw && p.number == q.number && p.digits == q.digits &&
		slices.Equal(p.names, q.names) && sameList(p.list, q.list) && p.frame.equal(q.frame)
}

// sameList reports whether two slices are the same list.
func sameList(a, b []string) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}
