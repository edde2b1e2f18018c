package schema

// Ends: the shortest text that completes a text of JSON, so far as is known: what is begun, and after
// it what its containers still need.

import (
	"slices"

	"picogpt/constrain/internal/trie"
)

// tooMany tokens are needed where no end is known.
const tooMany = trie.Never

// Bounds of the searches for ends.
const (
	mostFar    = 1 << 12 // characters of a string
	mostLooked = 1 << 13 // steps of one search
	mostSteps  = 1 << 13 // and of all when a form is prepared
	mostFirst  = 1 << 19 // work when a form is prepared; where it takes more, no ends are known
	mostInMask = 1 << 12 // and of all for a mask
	mostInTime = 1 << 16 // work for a mask; of ids that it does not reach, a mask has none
	mostLines  = 64      // containers for which the tokens of a line are counted
	mostTried  = 8       // names or texts that begin like the text, which are compared
)

// Need returns a number of ids with which a text can be completed, Never or more if none is known.
func (j *Form) Need(state any) int {
	if j.ends.once.Do(j.prepare); !j.ends.known {
		return tooMany
	}
	_, need := j.ender().nearest(state.([]part))
	return need
}

// End returns ids that complete a text, no more than Need says; nil if none are known.
func (j *Form) End(state any) []int {
	e, parts := j.ender(), state.([]part)
	best, least := e.nearest(parts)
	e.spell = true
	if e.part(&parts[best]); least >= tooMany || e.need >= tooMany {
		return nil
	}
	ids, _ := j.vocab.Spell(e.text)
	return ids
}

// nearest returns the part whose end is the nearest, of those that it reaches, and what that needs.
func (e *ender) nearest(parts []part) (best, least int) {
	least = tooMany
	for i := range parts {
		if n := e.needs(&parts[i]); n < least {
			best, least = i, n
		}
		if e.work > mostInTime && least < tooMany {
			break
		}
	}
	return best, least
}

func (e *ender) needs(p *part) int { return e.trial(func() { e.part(p) }).need }

// Roomy reports whether each id that may come leaves a text that needs at most so many others. It is
// false where that takes long to find.
func (j *Form) Roomy(state any, left int) bool {
	e := j.ender()
	e.most, e.bound = mostInMask, 4*mostInTime
	var before *frame
	for i, p := range state.([]part) {
		if i > 0 && p.frame == before {
			continue
		}
		if before = p.frame; !e.roomy(before, left) {
			return false
		}
	}
	return true
}

// roomy is Roomy in a container.
func (e *ender) roomy(f *frame, left int) bool {
	is := e.trial(func() {
		e.add(e.j.ends.growth, f.depth())
		for ; f != nil && e.need <= left; f = f.up {
			e.atMost(f)
		}
	})
	return is.need <= left && e.work <= e.bound
}

// An ender counts the tokens of an end of a text, piece by piece, or spells it.
type ender struct {
	j *Form
	size
	flat  bool // the size is that of a text in no container; else it has no lines
	spell bool // text has the end; need is not its number of tokens, which may be less
	text  []byte

	steps  int // of searches
	work   int // the same whatever is stored
	bound  int // of it
	most   int
	rests  map[*frame]int
	known  map[any]closed // by spec and state
	counts map[string]int
}

// A closed is the shortest end of a string or a number, and the state of the string there.
type closed struct {
	text string
	at   stringState
}

func (j *Form) ender() *ender {
	return &ender{j: j, most: mostSteps, bound: mostFirst, rests: map[*frame]int{}, known: map[any]closed{},
		counts: map[string]int{}}
}

// trial returns the size of what f adds.
func (e *ender) trial(f func()) size {
	n, spell := e.size, e.spell
	e.size, e.spell = size{}, false
	f()
	n, e.size, e.spell = e.size, n, spell
	return n
}

// add adds what a text needs that begins in some containers.
func (e *ender) add(s size, depth int) {
	switch {
	case s.lines == 0:
	case e.flat:
		e.lines, e.height = min(e.lines+s.lines, tooMany), max(e.height, depth+s.height)
	default:
		s.need += s.lines * (e.j.ends.line(depth+s.height) - e.j.ends.line(1))
	}
	e.need = min(e.need+s.need, tooMany)
}

// put adds a text of some tokens.
func (e *ender) put(text string, tokens int) {
	e.work++
	if e.add(size{need: tokens}, 0); e.spell {
		e.text = append(e.text, text...)
	}
}

// raw adds a text, if there is one.
func (e *ender) raw(text string, ok bool) {
	if !ok {
		e.need = tooMany
		return
	}
	e.put(text, e.count(text))
}

// count returns the tokens of a text.
func (e *ender) count(text string) int {
	n, ok := e.counts[text]
	if !ok {
		n = e.j.vocab.Fewest([]byte(text))
		e.work += 4 + 4*len(text)
		e.counts[text] = n
	}
	return n
}

// line begins a line in a container, if the layout has lines.
func (e *ender) line(f *frame) {
	if e.j.line == "" {
		return
	}
	if e.add(size{e.j.ends.line(1), 1, 0}, f.depth()); e.spell {
		e.text = append(e.text, e.j.begin(f)...)
	}
}

// before adds what comes before an item or a name.
func (e *ender) before(f *frame, first bool) {
	if !first {
		e.put(","+e.j.comma, e.j.ends.comma)
	}
	e.line(f)
}

// value adds the least text of a value in a container.
func (e *ender) value(v *value, f *frame) {
	l := &v.least
	switch {
	case !e.spell || l.need >= tooMany:
		e.add(l.size, f.depth())
	case l.array != nil:
		e.array(l.array, f)
	case l.object != nil:
		e.object(l.object, f)
	default:
		e.put(l.text, l.need)
	}
}

func (e *ender) array(s *arraySpec, up *frame) {
	e.put("[", 1)
	e.shut(up.open(nil, s))
}

func (e *ender) object(s *objectSpec, up *frame) {
	e.put("{", 1)
	e.shut(up.open(s, nil))
}

// rest adds the ends of a container and of those around it, after one of its parts.
func (e *ender) rest(f *frame) {
	for f.keeps() && e.need < tooMany {
		f = e.finish(f, 2)
	}
	if f == nil || e.need >= tooMany {
		return
	}
	if n, ok := e.rests[f]; ok && !e.spell {
		e.put("", n)
		return
	}
	e.shut(f)
	if e.spell || e.rests[f.up] > 0 || f.up == nil {
		e.rest(f.up)
		return
	}
	e.rests[f.up] = e.trial(func() { e.rest(f.up) }).need
	e.put("", e.rests[f.up])
}

// atMost adds what a container needs at most, whatever comes in it.
func (e *ender) atMost(f *frame) {
	o, s := f.object, f.array
	switch {
	case f.unique():
		n, ok := e.spareItem(s, int(f.count), true)
		if !ok {
			e.need = tooMany
			return
		}
		n.height++
		e.add(n, f.depth()-1)
		e.itemsAtMost(f)
		e.close(f)
	case f.keeps(): // what is in an item counts there
	case o != nil && (o.somes > 0 || o.min > int(f.count)):
		missing := o.neededFrom[f.next] + o.neededFree - int(f.needed)
		e.add(o.dear.times(max(missing, o.min-int(f.count))+o.somes), f.depth()-1)
		e.close(f)
	case s != nil && s.tally != nil:
		e.add(s.dear, f.depth()-1)
		e.close(f)
	default:
		e.shut(f)
	}
}

// itemsAtMost adds the unique items that an array still needs.
func (e *ender) itemsAtMost(f *frame) {
	n, _ := e.spareItem(f.array, int(f.count), false)
	n.need, n.lines, n.height = n.need+e.j.ends.comma, n.lines+1, n.height+1
	e.add(n.times(max(0, f.array.min-int(f.count))), f.depth()-1)
}

// close adds the end of a container that is not empty.
func (e *ender) close(f *frame) {
	e.line(f.up)
	e.bracket(f)
}

func (e *ender) bracket(f *frame) {
	if f.object != nil {
		e.put("}", 1)
		return
	}
	e.put("]", 1)
}

// shut adds the end of a container, after one of its parts or its beginning.
func (e *ender) shut(f *frame) {
	if f.unique() {
		e.finish(f, 1)
		return
	}
	any := f.count > 0
	if f.object != nil {
		any = e.properties(f, false) || any
	} else {
		any = e.items(f) || any
	}
	if any {
		e.line(f.up)
	}
	e.bracket(f)
}

// items adds those that an array needs, and reports whether there are any.
func (e *ender) items(f *frame) (any bool) {
	s := f.array
	if s.tally != nil {
		i, state := int(f.count), f.tally
		m := s.tally.end(i, state)
		if !e.spell {
			e.add(m.size, f.depth()-1)
			return m.claim >= 0
		}
		for ; m.claim >= 0; m = s.tally.end(i, state) {
			o := s.tally.at(i)[m.claim]
			e.before(f, i == 0)
			e.value(o.value, f)
			i++
			state, _ = s.tally.add(state, o.bits)
		}
		return i > int(f.count)
	}
	for i := int(f.count); i < s.min && e.need < tooMany; i++ {
		any = true
		if !e.spell && i > 0 && i >= len(s.prefix) { // and all others are like it
			e.add(e.trial(func() {
				e.before(f, false)
				e.value(s.items, f)
			}).times(s.min-i), 0)
			break
		}
		e.before(f, i == 0)
		e.value(s.item(i), f)
	}
	return any
}

// properties adds those that an object needs, and reports whether there are any. begun says that a
// comma or the beginning of the object, and no end, was read.
func (e *ender) properties(f *frame, begun bool) (any bool) {
	s := f.object
	needed := s.neededFrom[f.next] + s.neededFree - int(f.needed)
	more := s.min - int(f.count) - needed
	if begun && needed == 0 {
		more = max(more, 1)
	}
	if !e.spell && !begun && s.tail != nil && more <= 0 && s.neededFree == int(f.needed) && s.somes == 0 {
		e.add(s.tail[f.next], f.depth()-1)
		return needed > 0
	}
	picks := e.covering(f)
	if s.somes > 0 {
		if picks == nil {
			e.need = tooMany
			return true
		}
		for i, m := range picks {
			if i >= len(s.names) || m.value != nil && !s.names[i].required {
				more--
			}
		}
	}
	before := 2
	if f.count == 0 {
		before = 1
	}
	if begun {
		before = 0
	}
	add := func(name string, cost int, v *value) {
		e.named(f, before, name, cost, v)
		before, any = 2, true
	}
	for i := int(f.next); i < len(s.names); i++ {
		e.work++
		n, v := &s.names[i], s.names[i].value
		if i >= s.ordered && f.has(n.name) {
			continue
		}
		if m := picks[i]; m.value != nil {
			v = m.value
		} else if !n.value.possible {
			continue
		} else if !n.required {
			if more <= 0 {
				continue
			}
			more--
		}
		add(n.escaped, s.costs[i], v)
	}
	g := *f
	other := func(str *stringSpec, values []*value) bool {
		name, at, ok := e.another(&g, str, "", stringState{})
		if !ok {
			e.need = tooMany
			return false
		}
		add(name, len(name)+4+len(e.j.comma+e.j.colon), str.among(values, at))
		g.used = &used{unescapeJSON(name), g.used}
		g.count++
		return true
	}
	for i := range s.claimed {
		if o := &s.claimed[i]; picks[len(s.names)+i].bits > 0 && !other(o.str, o.values) {
			return true
		}
	}
	for ; more > 0 && e.need < tooMany && e.work <= e.bound; more-- {
		if s.others == nil || !other(s.others, s.values) {
			e.need = tooMany
		}
	}
	if more > 0 {
		e.need = tooMany
	}
	return any
}

// named adds a property: its name, in JSON, and the least value; before is 0 if what comes before it
// is there, and 1 if it is the first.
func (e *ender) named(f *frame, before int, name string, cost int, v *value) {
	e.label(f, before, name, cost)
	e.value(v, f)
}

// label adds what comes before a property, and its name.
func (e *ender) label(f *frame, before int, name string, cost int) {
	text := `"` + name + `":` + e.j.colon
	switch {
	case before > 0 && e.j.line != "":
		e.before(f, before == 1)
	case before > 1: // cost has the comma
		text = "," + e.j.comma + text
	}
	e.put(text, cost)
}

// covering returns what the properties are that an object needs so that there is one of each kind, by
// their names, and behind these by what claims them; nil if it needs none or there are none.
func (e *ender) covering(f *frame) map[int]claim {
	s := f.object
	if s.somes == 0 {
		return nil
	}
	type pick struct {
		need int // with what follows
		of   claim
		more int // than the required ones
	}
	kinds, extras := 1<<s.somes, s.somes+1
	last := len(s.names) + len(s.claimed)
	room := s.max - int(f.count) - s.neededFrom[f.next] - s.neededFree + int(f.needed)
	best := make([]pick, (last+1)*kinds*extras)
	at := func(i, more, have int) *pick { return &best[(i*extras+more)*kinds+have] }
	for more := range extras {
		for have := range kinds {
			if at(last, more, have).need = tooMany; have == kinds-1 && (s.max < 0 || more <= room) {
				at(last, more, have).need = 0
			}
		}
	}
	for i := last - 1; i >= int(f.next); i-- {
		var ways []pick
		way := func(cost int, m claim, more int) {
			if m.value == nil {
				ways = append(ways, pick{})
			} else if m.value.possible {
				n := e.trial(func() { e.named(f, 2, "", cost, m.value) }).need
				ways = append(ways, pick{n, m, more})
			}
		}
		switch {
		case i >= len(s.names):
			way(0, claim{}, 0)
			o := &s.claimed[i-len(s.names)]
			k := slices.IndexFunc(o.values, func(v *value) bool { return v != nil && v.possible })
			if o.open && k >= 0 {
				way(16, claim{o.bits, o.values[k]}, 1)
			}
		case i >= s.ordered && f.has(s.names[i].name):
			way(0, claim{}, 0)
		default:
			n, extra := &s.names[i], 0
			if n.required {
				way(s.costs[i], claim{0, n.value}, 0)
			} else {
				way(0, claim{}, 0)
				extra = 1
			}
			for _, m := range n.claims {
				way(s.costs[i], m, extra)
			}
		}
		for more := range extras {
			for have := range kinds {
				p := at(i, more, have)
				p.need = tooMany
				e.work += len(ways)
				for _, w := range ways {
					if more+w.more == extras {
						continue
					}
					w.need += at(i+1, more+w.more, have|w.of.bits).need
					if w.need < p.need {
						*p = w
					}
				}
			}
		}
	}
	picks := map[int]claim{}
	more, have := 0, int(f.tally)
	for i := int(f.next); i < last; i++ {
		p := at(i, more, have)
		if p.need >= tooMany {
			return nil
		}
		if p.of.value != nil {
			picks[i] = p.of
		}
		more, have = more+p.more, have|p.of.bits
	}
	if at(last, more, have).need > 0 {
		return nil
	}
	return picks
}

// another returns the end of a name that an object does not have or know, after its beginning in
// JSON, and the state of the name's table there.
func (e *ender) another(f *frame, str *stringSpec, begun string, from stringState) (string, int32, bool) {
	rest, last, ok := e.ending(str, from, f.taken()+1, func(text string) bool {
		e.work += 8 + f.taken()
		name := unescapeJSON(begun + text)
		_, known := f.object.index[name]
		return !known && !f.has(name)
	})
	return rest, last.at, ok
}

// part adds the end of a text after a part.
func (e *ender) part(p *part) {
	f := p.frame
	if p.rest != "" && p.kind != partWord {
		e.raw(p.rest, true)
	}
	if f.keeps() && p.kind != partName && p.kind != partOther {
		e.kept(p)
		return
	}
	switch p.kind {
	case partAfter:
		e.rest(f)
	case partEnd:
		e.bracket(f)
		e.rest(f.up)
	case partValue:
		e.value(p.value, f)
		e.rest(f)
	case partWord:
		e.raw(p.rest, true)
		e.rest(f)
	case partString:
		text, _, ok := e.ending(p.str, p.string, 1, anyText)
		e.raw(text+`"`, ok)
		e.rest(f)
	case partNumber:
		text, ok := e.number(p.number, p.digits, 1, anyText)
		e.raw(text, ok)
		e.rest(f)
	case partList, partNumberList:
		text, _ := shortest(p.list[p.lo:min(p.hi, p.lo+mostTried)])
		quote := map[partKind]string{partList: `"`}[p.kind]
		e.raw(text[p.at:]+quote, true)
		e.rest(f)
	case partKey:
		e.properties(f, true)
		e.close(f)
		e.rest(f.up)
	case partName:
		e.name(p)
	case partOther:
		e.other(p)
	case partColon:
		e.raw(":"+e.j.colon, true)
		e.value(p.value, f)
		e.rest(f)
	}
}

// name adds the end after a part of a known name.
func (e *ender) name(p *part) {
	names := p.frame.object.names
	var best func()
	least := tooMany + 1
	for _, i := range p.names[p.lo:min(p.hi, p.lo+mostTried)] {
		for _, q := range e.j.named(nil, p.frame, int(i)) {
			end := func() {
				e.raw(names[i].escaped[p.at:]+`"`, true)
				e.part(&q)
			}
			if n := e.trial(end).need; n < least {
				best, least = end, n
			}
		}
	}
	if best == nil {
		e.need = tooMany
	} else if e.spell {
		best()
	} else {
		e.put("", least)
	}
}

// other adds the end after a part of another name.
func (e *ender) other(p *part) {
	text, at, ok := e.another(p.frame, p.str, p.raw, p.string)
	if ok {
		var q part
		if q, ok = e.j.endOther(p, p.raw+text, at); ok {
			e.raw(text+`"`, true)
			e.part(&q)
		}
	}
	if !ok {
		e.need = tooMany
	}
}
