package schema

// Frame: an open object or array, with what it has so far; and which properties may come next.

import (
	"slices"

	"picogpt/constrain/internal/automaton"
)

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

	several []*frame // it is none, but what a value is in is one of these, all of its depth
}

// A frameLook is a hash key: equal frames have equal ones.
type frameLook struct {
	object *objectSpec
	array  *arraySpec
	next   int32
	count  int32
	used   int
}

func (f *frame) look() frameLook {
	k := frameLook{object: f.object, array: f.array, next: f.next, count: f.count}
	if f.used != nil {
		k.used = len(f.used.name)
	}
	return k
}

// first returns the first of the frames that a frame stands for.
func (f *frame) first() *frame {
	if f.several != nil {
		return f.several[0]
	}
	return f
}

// each returns the frames that a frame stands for.
func (f *frame) each() []*frame {
	if f.several != nil {
		return f.several
	}
	return []*frame{f}
}

// together returns one frame that stands for some.
func together(frames []*frame, work *int) *frame {
	var list []*frame
	alike := map[frameLook][]*frame{}
	add := func(f *frame) {
		key := f.look()
		if !slices.ContainsFunc(alike[key], func(g *frame) bool { *work++; return f.equal(g) }) {
			alike[key], list = append(alike[key], f), append(list, f)
		}
	}
	for _, f := range frames {
		if f.several == nil {
			add(f)
		}
		for _, g := range f.several {
			add(g)
		}
	}
	if len(list) == 1 {
		return list[0]
	}
	return &frame{several: list, deep: list[0].deep}
}

// brackets are the first byte of a container and its last one.
func (f *frame) brackets() string {
	if f.object != nil {
		return "{}"
	}
	return "[]"
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
			f.next != g.next || f.count != g.count || f.tally != g.tally || !f.usesLike(g) ||
			!slices.EqualFunc(f.several, g.several, (*frame).equal) {
			return false
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
	if s.other() != nil {
		possible += s.left(f)
	}
	return int(f.count)+possible >= s.min
}

// left returns how many other names are still possible.
func (s *objectSpec) left(f *frame) int {
	t := s.other().table
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
	for _, m := range n.claims {
		g.tally = f.tally | int32(m.bits)
		if ok = (m.bits == 0 || g.tally != f.tally) && m.value.possible && s.feasible(&g); ok {
			break
		}
	}
	g.tally = f.tally
	return g, ok
}

// afterOther returns the frame after an unknown name, with the same ok.
func (f *frame) afterOther(o *otherNames) (g frame, ok bool) {
	s := f.object
	if g = *f; o.str == nil || s.neededFrom[f.next] > 0 || s.left(f) <= 0 {
		return g, false
	}
	if g.tally |= int32(o.bits); o.bits != 0 && g.tally == f.tally {
		return g, false
	}
	g.count++
	g.others++
	g.next = int32(s.ordered)
	return g, s.feasible(&g)
}

// mayOther reports whether some unknown name may come next.
func (f *frame) mayOther(o otherNames) bool {
	_, ok := f.afterOther(&o)
	return ok
}

// names returns the known names that may come next, as in JSON, sorted.
func (f *frame) names() (list []string) {
	for _, i := range f.object.sorted {
		if _, ok := f.after(int(i)); ok {
			list = append(list, f.object.names[i].text)
		}
	}
	return list
}

// mayContinue reports whether any name may come next.
func (f *frame) mayContinue() bool {
	return slices.ContainsFunc(f.object.others, f.mayOther) || slices.ContainsFunc(f.object.sorted, func(i int32) bool {
		_, ok := f.after(int(i))
		return ok
	})
}
