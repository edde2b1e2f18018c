package schema

// Ends: the shortest text that completes a text of JSON, so far as is known: what is begun, and after
// it what its containers still need.

import "picogpt/constrain/internal/trie"

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
func (j *Form) Roomy(state any, left int) bool { return j.Room(state, left) <= left }

// Room returns the least number for which Roomy holds, or more than most if it is more.
func (j *Form) Room(state any, most int) (room int) {
	e := j.ender()
	e.most, e.bound = mostInMask, 4*mostInTime
	var before *frame
	for i, p := range state.([]part) {
		if i > 0 && p.frame == before {
			continue
		}
		before = p.frame
		if room = max(room, e.room(before, most)); room > most || e.work > e.bound {
			return tooMany
		}
	}
	return room
}

// room is Room in a container.
func (e *ender) room(f *frame, most int) int {
	return e.trial(func() {
		e.add(e.j.ends.growth, f.depth())
		for ; f != nil && e.need <= most; f = f.up {
			e.atMost(f)
		}
	}).need
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
	e.shut(up.open(nil, s), false)
}

func (e *ender) object(s *objectSpec, up *frame) {
	e.put("{", 1)
	e.shut(up.open(s, nil), false)
}

// rest adds the ends of a container and of those around it, after one of its parts.
func (e *ender) rest(f *frame) {
	for f.keeps() && e.need < tooMany {
		f = e.shut(f, false)
	}
	if f == nil || e.need >= tooMany {
		return
	}
	if n, ok := e.rests[f]; ok && !e.spell {
		e.put("", n)
		return
	}
	e.shut(f, false)
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
		e.shut(f, false)
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

// shut adds the end of a container, after one of its parts or its beginning, or if it is begun before
// a name. It returns the frame after it, in which what the container has is kept if it must.
func (e *ender) shut(f *frame, begun bool) *frame {
	if f.object != nil {
		f = e.properties(f, begun)
	} else {
		f = e.items(f)
	}
	if !f.apart() || e.need >= tooMany {
		e.need = tooMany
		return nil
	}
	if f.count > 0 {
		e.line(f.up)
	}
	e.bracket(f)
	return e.j.doneContainer(f).frame
}

// items adds those that an array needs, and returns the frame after them.
func (e *ender) items(f *frame) *frame {
	s := f.array
	add := func(v *value, bits int) {
		e.before(f, f.count == 0)
		g := *f
		if g.count++; s.tally != nil {
			g.tally, _ = s.tally.add(f.tally, bits)
		}
		f = e.follow(v, &g)
	}
	switch {
	case s.tally != nil && !e.spell:
		m := s.tally.end(int(f.count), f.tally)
		if e.add(m.size, f.depth()-1); m.claim >= 0 && f.count == 0 {
			return &frame{up: f.up, array: s, count: 1}
		}
	case s.tally != nil:
		for m := s.tally.end(int(f.count), f.tally); m.claim >= 0; m = s.tally.end(int(f.count), f.tally) {
			o := s.tally.at(int(f.count))[m.claim]
			add(o.value, o.bits)
		}
	default:
		for e.need < tooMany && (int(f.count) < s.min || !f.unique() && !f.apart()) &&
			(s.max < 0 || int(f.count) < s.max) {
			i, more := int(f.count), s.min-int(f.count)
			if !e.spell && !f.keeps() && i > 0 && i >= len(s.prefix) { // and all others are like it
				e.add(e.trial(func() { add(s.items, 0) }).times(more), 0)
				break
			}
			add(s.item(i), 0)
		}
	}
	return f
}

// follow adds a value in a container, one that differs from what it must if it can. It returns the
// frame after it.
func (e *ender) follow(v *value, f *frame) *frame {
	if f.keeps() {
		return e.unlike(v, f)
	}
	e.value(v, f)
	return f
}

// properties adds those that an object needs, and returns the frame after them.
func (e *ender) properties(f *frame, begun bool) *frame {
	s := f.object
	missing := func() int { return s.neededFrom[f.next] + s.neededFree - int(f.needed) }
	if n := missing(); !e.spell && !begun && s.tail != nil && s.min-int(f.count) <= n &&
		s.neededFree == int(f.needed) && s.somes == 0 && !f.keeps() {
		e.add(s.tail[f.next], f.depth()-1)
		return &frame{up: f.up, object: s, count: f.count + int32(n)}
	}
	add := func(q part, name string, cost int) {
		e.label(f, begun, name, cost)
		f, begun = e.follow(q.value, q.frame), false
	}
	all := int32(1<<s.somes - 1)
	for i := int(f.next); i < len(s.names) && e.need < tooMany; i++ {
		n := &s.names[i]
		e.work++
		if !n.required && !begun && s.min-int(f.count) <= missing() && f.tally == all && f.apart() {
			continue
		}
		if _, ok := f.after(i); !ok {
			continue
		}
		var best part
		for _, q := range e.j.named(nil, f, i) { // one of a new kind rather than another
			if old := best.frame; old == nil || old.tally == f.tally && q.frame.tally != old.tally ||
				(q.frame.tally == f.tally) == (old.tally == f.tally) && q.value.least.need < best.value.least.need {
				best = q
			}
		}
		if best.frame != nil && (n.required || begun || s.min-int(f.count) > missing() ||
			best.frame.tally != f.tally || !f.apart() && f.nameDiffers(i, 0) && !f.laterDiffers(i+1)) {
			add(best, n.escaped, s.costs[i])
		}
	}
	for e.need < tooMany && (int(f.count) < s.min || !f.apart() || f.tally != all || begun) {
		p := part{kind: partOther, frame: f, str: s.others}
		for i := range s.claimed {
			if _, ok := f.afterClaimed(&s.claimed[i]); ok && f.tally != all {
				p.str = s.claimed[i].str
			}
		}
		var q part
		ok := p.str != nil
		if ok {
			name, at, found := e.another(f, p.str, "", stringState{})
			if q, ok = e.j.endOther(&p, name, at); ok && found {
				add(q, name, len(name)+4+len(e.j.comma+e.j.colon))
				continue
			}
		}
		e.need = tooMany
	}
	return f
}

// laterDiffers reports whether a required name from the i-th on can make an object differ.
func (f *frame) laterDiffers(i int) bool {
	for ; i < len(f.object.names); i++ {
		if f.object.names[i].required && f.nameDiffers(i, 0) {
			return true
		}
	}
	return false
}

// label adds what comes before a property, unless that is begun, and its name in JSON.
func (e *ender) label(f *frame, begun bool, name string, cost int) {
	text := `"` + name + `":` + e.j.colon
	switch {
	case begun:
	case e.j.line != "":
		e.before(f, f.count == 0)
	case f.count > 0: // cost has the comma
		text = "," + e.j.comma + text
	}
	e.put(text, cost)
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
		text, _ := shortest(p.list()[p.lo:min(p.hi, p.lo+mostTried)])
		quote := map[partKind]string{partList: `"`}[p.kind]
		e.raw(text[p.at:]+quote, true)
		e.rest(f)
	case partKey:
		e.shut(f, true)
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
	for _, i := range (*p.names)[p.lo:min(p.hi, p.lo+mostTried)] {
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
