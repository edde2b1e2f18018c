package schema

// Unique: items of an array that differ. Of what is in it, a frame keeps the values so far, and the
// earlier items, or their parts, that it may still become equal to. A text goes on only where what
// is open can still become different from all of these.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/constrain/internal/automaton"
)

// A node is a value that was written: an item or, by its name, a property. Equal values have equal
// texts.
type node struct {
	name string
	text string
	kind byte // { or [, 0 for others
	kids []*node
}

// unique refuses an array of unique items that may not find as many as its min says, whatever came
// before.
func (c *compiler) unique(s *arraySpec) {
	for i := 0; i < min(s.min, len(s.prefix)+1); i++ {
		n := i + 1 // the values so far, and another one
		if i == len(s.prefix) {
			n = s.min
		}
		if v := s.item(i); n > 1 && v.possible && !v.endless(0) && !v.atLeast(n) {
			c.fail(fmt.Errorf("%s: uniqueItems of %d items or more is supported for items of which so "+
				"many are known to differ, as strings of any length do, and objects with one",
				s.from.at(), n))
		}
	}
}

// endless reports whether there are infinitely many of a value, and still after any beginning of
// some of them.
func (v *value) endless(depth int) bool {
	if depth > maxAlike || !v.possible {
		return false
	}
	return slices.ContainsFunc(v.scalars, func(p part) bool {
		return p.kind == partString && p.str.endless() || p.kind == partNumber && p.number.any
	}) ||
		slices.ContainsFunc(v.arrays, func(s *arraySpec) bool {
			return s.tally == nil && s.max < 0 && s.items.possible && (!s.unique || s.items.endless(depth+1))
		}) || slices.ContainsFunc(v.objects, func(s *objectSpec) bool {
		return s.somes == 0 && s.max < 0 && (s.anyName() || slices.ContainsFunc(s.names,
			func(n objectName) bool { return n.value.endless(depth + 1) }))
	})
}

const maxAlike = 4 // containers in one another that are looked into

// anyName reports whether any names may follow.
func (s *objectSpec) anyName() bool { return s.other() != nil && s.other().table == nil }

// atLeast reports whether a value has so many scalars.
func (v *value) atLeast(n int) bool {
	for _, p := range v.scalars {
		switch s := p.str; {
		case p.kind == partList:
			n -= len(*p.texts)
		case p.kind == partNumber && p.number.whole && p.number.besides == nil:
			size := p.number.size()
			n -= max(size, -size*n)
		case s != nil && s.table == nil && s.max != 0:
			return true // characters are a million
		case s != nil && s.table != nil && s.table.Lengths == nil:
			n -= s.table.Count[0]
		}
	}
	return n <= 0
}

// keeps reports whether a frame keeps its values.
func (f *frame) keeps() bool { return f != nil && (f.kept || f.unique()) }

// unique reports whether a frame is an array whose items differ.
func (f *frame) unique() bool { return f != nil && f.array != nil && f.array.unique }

// open returns the frame of a container that begins in a frame.
func (f *frame) open(o *objectSpec, a *arraySpec) *frame {
	g := &frame{up: f, object: o, array: a, deep: f.depth() + 1, kept: f.keeps()}
	if g.kept {
		g.same = ofKind(f.rivals(f.name), g.brackets()[0])
	}
	return g
}

func ofKind(nodes []*node, kind byte) []*node {
	return slices.DeleteFunc(slices.Clone(nodes), func(u *node) bool { return u.kind != kind })
}

// rivals returns what a value that is read in a frame, as the newest item or under a name, must
// differ from so that its container, or the item that it is, does.
func (f *frame) rivals(name string) (nodes []*node) {
	if f.unique() {
		return f.kids
	}
	for _, u := range f.same {
		if kid := u.kid(f, name); kid != nil {
			nodes = append(nodes, kid)
		}
	}
	return nodes
}

// kid returns what a node has where a frame like it reads a value.
func (u *node) kid(f *frame, name string) *node {
	if f.object == nil {
		if at := int(f.count) - 1; at < len(u.kids) {
			return u.kids[at]
		}
		return nil
	}
	for _, kid := range u.kids {
		if kid.name == name {
			return kid
		}
	}
	return nil
}

// doneValue returns the part after a value, given as it is kept.
func (j *Form) doneValue(f *frame, u node) part {
	if !f.keeps() {
		return j.done(f)
	}
	g := *f
	u.name = f.name
	g.kids, g.same = append(slices.Clip(f.kids), &u), nil
	for _, old := range f.same {
		if kid := old.kid(f, f.name); kid != nil && kid.text == u.text {
			g.same = append(g.same, old)
		}
	}
	return j.done(&g)
}

// doneText is doneValue for a scalar.
func (j *Form) doneText(f *frame, text string) part { return j.doneValue(f, node{text: text}) }

// doneContainer returns the part after a container.
func (j *Form) doneContainer(f *frame) part {
	if !f.kept {
		return j.done(f.up)
	}
	u, texts := node{kind: '[', kids: f.kids}, []string{}
	for _, kid := range f.kids {
		texts = append(texts, strconv.Quote(kid.name)+kid.text)
	}
	if f.object != nil {
		u.kind = '{'
		slices.Sort(texts)
	}
	u.text = string(u.kind) + strings.Join(texts, ",") + "]"
	return j.doneValue(f.up, u)
}

// keptNumber returns what equal numbers have in common. Those that are not whole are compared as
// float64.
func keptNumber(text string, whole bool) string {
	if whole {
		return canonicalWhole(text)
	}
	f, _ := strconv.ParseFloat(text, 64)
	if f == 0 {
		f = 0 // and not -0
	}
	return strconv.FormatFloat(f, 'f', -1, 64)
}

// keptString returns what strings of equal characters have in common, given their bytes in JSON.
func keptString(raw string) string {
	if strings.IndexByte(raw, '\\') >= 0 {
		raw = escapeJSON(unescapeJSON(raw))
	}
	return `"` + raw
}

// kept returns what is kept of a scalar, given in JSON.
func kept(text string) string {
	switch {
	case text == "" || text[0] >= 'a':
		return text
	case text[0] == '"':
		return keptString(text[1 : len(text)-1])
	}
	return keptNumber(text, !strings.ContainsAny(text, ".eE"))
}

// fresh reports whether what a part reads can become different from all that it must differ from.
func (p *part) fresh() bool {
	f := p.frame
	if !f.kept { // an array, in none
		if f.kids == nil {
			return true
		}
		if p.kind == partNumber && p.number.accepts(p.digits) &&
			!among(f.kids, keptNumber(p.raw, p.number.whole)) {
			return true
		}
	}
	different, narrow := false, false // the container is, or what is in it; p reads one way of it only
	switch p.kind {
	case partColon, partValue:
		different = p.value.differs(f.rivals(f.name), 0)
	case partList, partNumber, partString:
		different = p.differs(f.rivals(f.name))
	case partKey: // a name follows, and not the end
		return slices.ContainsFunc(f.key(nil), func(q part) bool { return q.fresh() })
	case partName:
		narrow = true
		different = slices.ContainsFunc((*p.texts)[p.lo:p.hi], func(text string) bool {
			i := f.object.index[unescapeJSON(text[1:len(text)-1])]
			g, _ := f.after(i)
			return f.object.somes == 0 && (f.nameDiffers(i, 0) || g.differs(0))
		})
	case partOther:
		narrow = true
		g, _ := f.afterOther(&f.object.others[0])
		different = p.str.table == nil || g.differs(0)
	default: // nothing is read
		n := len(f.kids) - 1
		different = f.unique() && (n < 0 || !among(f.kids[:n], f.kids[n].text))
	}
	if !f.kept {
		return different
	}
	for g := f; g.keeps(); g = g.up {
		if g.unique() {
			if !different {
				return false
			}
			different = false
		}
		switch {
		case different || len(g.same) == 0:
			different = true
		case g == f && p.kind == partEnd:
			different = g.longer()
		case g != f || !narrow:
			different = g.differs(0)
		}
	}
	return true
}

// goesOn reports whether a string, a number or a name is fresh after each byte but the last.
func (p *part) goesOn() bool {
	switch p.kind {
	case partString:
		return p.str.endless() || p.string.Form == automaton.Border &&
			!begun(p.frame.rivals(p.frame.name), keptString(p.raw))
	case partOther:
		return p.str.table == nil
	}
	return p.number.any && p.number.whole && (p.digits.phase == numberDigits ||
		!among(p.frame.rivals(p.frame.name), "0")) // which no digit follows
}

// freshParts drops those of some parts from an index on that are not fresh.
func freshParts(parts []part, from int, work *int) []part {
	n := from
	for k := from; k < len(parts); k++ {
		if p := &parts[k]; p.frame.keeps() {
			if *work += 1 + len(p.frame.same); !p.fresh() {
				continue
			}
		}
		if n < k {
			parts[n] = parts[k]
		}
		n++
	}
	return parts[:n]
}

// among reports whether one of some nodes has a text.
func among(nodes []*node, text string) bool {
	return slices.ContainsFunc(nodes, func(u *node) bool { return u.text == text })
}

// begun reports whether the text of one of some nodes begins with a text.
func begun(nodes []*node, text string) bool {
	return slices.ContainsFunc(nodes, func(u *node) bool { return strings.HasPrefix(u.text, text) })
}

// differs reports whether a string or a number that begins like a part differs from some nodes.
func (p *part) differs(rivals []*node) bool {
	switch p.kind {
	case partNumber:
		return p.number.differs(p.digits, p.raw, rivals)
	case partString:
		return p.str.differs(p.string, p.raw, rivals)
	}
	return slices.ContainsFunc((*p.texts)[p.lo:p.hi], func(t string) bool { return !among(rivals, kept(t)) })
}

// differs reports whether a container can become different from those that it may still be equal
// to, by what follows.
func (f *frame) differs(depth int) bool {
	if len(f.same) == 0 {
		return true
	}
	if depth > maxAlike {
		return false
	}
	other := f.longer()
	if s := f.array; s != nil {
		switch {
		case s.mayClose(f) && other:
			return true
		case s.tally != nil:
			return false
		case s.unique || s.max < 0:
			return s.max < 0 && s.items.possible && (!s.unique || s.items.endless(0))
		}
		g := *f
		g.count++
		return int(f.count) < s.max && s.item(int(f.count)).differs(g.rivals(""), depth)
	}
	s := f.object
	if s.mayClose(f) && other {
		return true
	}
	if s.somes > 0 {
		return false
	}
	if s.anyName() && f.mayOther(s.others[0]) {
		return true
	}
	for i := range s.names {
		if _, ok := f.after(i); ok && f.nameDiffers(i, depth) {
			return true
		}
	}
	return false
}

// longer reports whether a container that ended now would differ by the number of its values.
func (f *frame) longer() bool {
	return !slices.ContainsFunc(f.same, func(u *node) bool { return len(u.kids) == int(f.count) })
}

// nameDiffers reports whether a container differs with some value of a known name.
func (f *frame) nameDiffers(i, depth int) bool {
	n := &f.object.names[i]
	return n.value.differs(f.rivals(n.name), depth)
}

// differs reports whether some value differs from some nodes.
func (v *value) differs(rivals []*node, depth int) bool {
	if len(rivals) == 0 {
		return v.possible
	}
	for _, p := range v.scalars {
		if p.differs(rivals) {
			return true
		}
	}
	for _, s := range v.arrays {
		f := &frame{array: s, kept: true, same: ofKind(rivals, '[')}
		if f.differs(depth + 1) {
			return true
		}
	}
	return slices.ContainsFunc(v.objects, func(s *objectSpec) bool {
		f := &frame{object: s, kept: true, same: ofKind(rivals, '{')}
		return f.differs(depth + 1)
	})
}

// maxTexts is the number of beginnings of a scalar among which one that differs is looked for.
// Where one is found, it is found again from each beginning of it.
const maxTexts = 4096

// found looks for a text that ends takes: one that begins with a text whose state is st, and goes on
// with some bytes as step lets it.
func found[S any](st S, text, bytes string, ends func(S, string) bool,
	step func(st S, text string, b byte) (S, bool),
) bool {
	tried := 0
	var find func(st S, text string) bool
	find = func(st S, text string) bool {
		if ends(st, text) {
			return true
		}
		for i := 0; i < len(bytes) && tried <= maxTexts; i++ {
			if next, ok := step(st, text, bytes[i]); ok {
				if tried++; find(next, text+bytes[i:i+1]) {
					return true
				}
			}
		}
		return false
	}
	return find(st, text)
}

// differs reports whether a number that begins with a text differs from some nodes. Numbers that
// are not whole have 15 digits at most, so that others differ as float64 too.
func (s *numberSpec) differs(st numberState, text string, rivals []*node) bool {
	return found(st, text, "-0123456789.e", func(st numberState, text string) bool {
		return s.accepts(st) && !among(rivals, keptNumber(text, s.whole))
	}, func(st numberState, text string, b byte) (numberState, bool) {
		if !s.whole && b != 'e' && st.phase < numberExp && len(text) > maxExact {
			return st, false
		}
		return s.step(st, b)
	})
}

// everyByte has each byte once.
var everyByte = func() string {
	all := make([]byte, 256)
	for b := range all {
		all[b] = byte(b)
	}
	return string(all)
}()

// differs reports whether a string that begins with some bytes differs from some nodes.
func (s *stringSpec) differs(st stringState, raw string, rivals []*node) bool {
	return s.endless() || found(st, raw, everyByte, func(st stringState, raw string) bool {
		if st.Form != automaton.Border {
			return false
		}
		text := keptString(raw)
		return !begun(rivals, text) || s.mayEnd(st) && !among(rivals, text) // what is live can end
	}, func(st stringState, _ string, b byte) (stringState, bool) {
		next, verdict := s.step(st, b)
		return next, verdict == goesOn
	})
}
