package schema

// Ends: the shortest text that completes a text of JSON, so far as is known: the least value of each
// kind, and after it what its containers still need.

import (
	"slices"
	"sync"

	"picogpt/constrain/internal/automaton"
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
	mostInTime = 1 << 17 // work for a mask; of ids that it does not reach, a mask has none
)

// ends are what a form knows of the ends of its texts, once a text has asked.
type ends struct {
	once   sync.Once
	known  bool                            // each state has an end
	growth int                             // what an id adds at most to what its containers need
	chars  map[*automaton.Table][][]string // of each class, some characters in JSON
	worst  map[*stringSpec]int
}

// A least is the shortest text of a value, so far as is known.
type least struct {
	need   int    // its tokens, piece by piece
	text   string // of what is no container
	array  *arraySpec
	object *objectSpec
}

// prepare finds the least values, by the least fixed point.
func (j *Form) prepare() {
	x := &j.ends
	x.known = j.comma+j.colon+j.line == "" // what the layout asks for is not spelled
	x.chars, x.worst = map[*automaton.Table][][]string{}, map[*stringSpec]int{}
	e, all, names := j.ender(), []*value{j.first}, 0
	at := map[*value]int{j.first: 0}
	for i := 0; i < len(all); i++ {
		all[i].eachPart(func(part *value) {
			if _, ok := at[part]; !ok && part.possible {
				at[part], all = len(all), append(all, part)
			}
		})
	}
	for _, v := range all {
		if e.work > e.bound {
			break
		}
		v.least = least{need: tooMany}
		e.leaves(v)
		for _, s := range v.objects {
			s.costs = make([]int, len(s.names))
			for i, n := range s.names {
				if s.costs[i] = len(n.escaped) + 4; n.required {
					s.costs[i] = e.count(`,"` + n.escaped + `":`)
				}
				names = max(names, len(n.escaped)+4)
			}
		}
	}
	for changed := true; changed; {
		if changed = false; e.work > e.bound {
			x.known = false
			return
		}
		for _, v := range slices.Backward(all) {
			for _, s := range v.arrays {
				changed = v.least.better(e.trial(func() { e.array(s) }), least{array: s}) || changed
			}
			for _, s := range v.objects {
				changed = v.least.better(e.trial(func() { e.object(s) }), least{object: s}) || changed
			}
		}
	}
	for _, v := range all {
		for _, s := range v.objects {
			s.tail = make([]int, s.ordered+1)
			for i := s.ordered - 1; i >= 0; i-- {
				if s.tail[i] = s.tail[i+1]; s.names[i].required {
					s.tail[i] = min(s.tail[i]+s.costs[i]+s.names[i].value.least.need, tooMany)
				}
			}
		}
		x.known = x.known && v.least.need < tooMany
	}
	// The peak of a value is what it may need after an id that opens so many containers in it.
	peaks := make([]int, len(all))
	for range j.vocab.nesting() + 1 {
		next := make([]int, len(all))
		if e.work > e.bound {
			x.known = false
			return
		}
		for i, v := range all {
			most := 0
			v.eachPart(func(part *value) {
				if k, ok := at[part]; ok {
					most = max(most, peaks[k])
				}
			})
			next[i] = e.peak(v, most, names)
		}
		peaks = next
	}
	x.growth = slices.Max(peaks) + names + 16
}

// Need returns a number of ids with which a text can be completed, Never or more if none is known.
func (j *Form) Need(state any) int {
	if j.ends.once.Do(j.prepare); !j.ends.known {
		return tooMany
	}
	e, need := j.ender(), tooMany
	parts := state.([]part)
	for i := range parts {
		need = min(need, e.trial(func() { e.part(&parts[i]) }))
	}
	return need
}

// End returns ids that complete a text, no more than Need says; nil if none are known.
func (j *Form) End(state any) []int {
	e, parts, best, least := j.ender(), state.([]part), 0, tooMany
	for i := range parts {
		if n := e.trial(func() { e.part(&parts[i]) }); n < least {
			best, least = i, n
		}
		if e.work > mostInTime && least < tooMany {
			break
		}
	}
	e.spell = true
	if e.part(&parts[best]); least >= tooMany || e.n >= tooMany {
		return nil
	}
	ids, _ := j.vocab.Spell(e.text)
	return ids
}

// Roomy reports whether each id that may come leaves a text that needs at most so many others. It is
// false where that takes long to find.
func (j *Form) Roomy(state any, left int) bool { return j.Room(state, left) <= left }

// Room returns the least number for which Roomy holds, or more than most if it is more.
func (j *Form) Room(state any, most int) (room int) {
	e := ender{j: j, most: mostInMask, bound: 2 * mostInTime, counts: map[string]int{}, known: map[any]closed{}}
	var before *frame
	for i, p := range state.([]part) {
		if i > 0 && p.frame == before {
			continue
		}
		e.n, before = j.ends.growth, p.frame
		for f := p.frame; f != nil && e.n <= most; f = f.up {
			e.shut(f, 0)
		}
		if room = max(room, e.n); room > most || e.work > e.bound {
			return tooMany
		}
	}
	return room
}

// better makes other the least text if it needs fewer tokens, and reports whether it does.
func (l *least) better(need int, other least) bool {
	if need >= l.need {
		return false
	}
	*l, l.need = other, need
	return true
}

// leaves finds the least text of a value that is no container.
func (e *ender) leaves(v *value) {
	x := &e.j.ends
	consider := func(text string, ok bool) {
		if ok {
			v.least.better(e.count(text), least{text: text})
		}
	}
	consider("null", v.null)
	consider("true", v.yes)
	consider("false", v.no)
	for _, s := range v.numbers {
		text, ok := shortest(s.texts)
		if s.texts == nil {
			text, ok = e.number(s, numberState{}, 1, anyText)
			x.known = x.known && ok && s.multiple <= 1000 // else there are too many remainders
		}
		consider(text, ok)
	}
	for _, s := range v.strings {
		text, ok := shortest(s.escaped)
		if s.texts == nil {
			text, _, ok = e.ending(s, stringState{}, 1, anyText)
			x.known = x.known && ok
		}
		consider(`"`+text+`"`, ok)
	}
	for _, s := range v.arrays { // of items that must differ, or are counted, no end is known
		x.known = x.known && !s.unique && s.tally == nil
	}
	for _, s := range v.objects {
		x.known = x.known && s.somes == 0 && len(s.claimed) == 0
	}
}

func anyText(string) bool { return true }

// shortest returns one of the shortest texts.
func shortest(texts []string) (text string, ok bool) {
	for i, t := range texts {
		if i == 0 || len(t) < len(text) {
			text = t
		}
	}
	return text, len(texts) > 0
}

// peak returns what a value may need after one of its beginnings, where its parts need most; names
// is what a name needs.
func (e *ender) peak(v *value, most, names int) int {
	n := 5 // a word
	for _, s := range v.numbers {
		n = max(n, s.worst())
	}
	for _, s := range v.strings {
		n = max(n, e.worst(s))
	}
	for _, s := range v.arrays {
		n = max(n, e.trial(func() { e.array(s) })+most)
	}
	for _, s := range v.objects {
		n = max(n, e.trial(func() { e.object(s) })+names+most)
		if s.others != nil {
			n = max(n, e.worst(s.others)+most)
		}
	}
	return n
}

// An ender counts the tokens of an end of a text, piece by piece, or spells it.
type ender struct {
	j     *Form
	n     int  // tokens
	spell bool // text has the end; n is not its number of tokens, which may be less
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

// trial returns the tokens of what f adds.
func (e *ender) trial(f func()) int {
	n, spell := e.n, e.spell
	e.n, e.spell = 0, false
	f()
	n, e.n, e.spell = e.n, n, spell
	return n
}

// put adds a text of some tokens.
func (e *ender) put(text string, tokens int) {
	e.work++
	if e.n = min(e.n+tokens, tooMany); e.spell {
		e.text = append(e.text, text...)
	}
}

// raw adds a text, if there is one.
func (e *ender) raw(text string, ok bool) {
	if !ok {
		e.n = tooMany
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

// value adds the least text of a value.
func (e *ender) value(v *value) {
	l := &v.least
	switch {
	case !e.spell || l.need >= tooMany:
		e.n = min(e.n+l.need, tooMany)
	case l.array != nil:
		e.array(l.array)
	case l.object != nil:
		e.object(l.object)
	default:
		e.put(l.text, l.need)
	}
}

func (e *ender) array(s *arraySpec) {
	e.put("[", 1)
	e.shut(&frame{array: s}, 0)
}

func (e *ender) object(s *objectSpec) {
	e.put("{", 1)
	e.shut(&frame{object: s}, 0)
}

// rest adds the ends of a container and of those around it, after one of its parts.
func (e *ender) rest(f *frame) {
	if f == nil {
		return
	}
	if n, ok := e.rests[f]; ok && !e.spell {
		e.put("", n)
		return
	}
	e.shut(f, 0)
	if e.spell || e.rests[f.up] > 0 || f.up == nil {
		e.rest(f.up)
		return
	}
	e.rests[f.up] = e.trial(func() { e.rest(f.up) })
	e.put("", e.rests[f.up])
}

// shut adds the end of a container, with some more properties at least.
func (e *ender) shut(f *frame, more int) {
	if f.object != nil {
		e.properties(f, more)
		e.put("}", 1)
		return
	}
	s := f.array
	for i := int(f.count); i < s.min && e.n < tooMany; i++ {
		if i > 0 {
			e.put(",", 1)
		}
		if !e.spell && i >= len(s.prefix) { // and all others are like it
			e.n = min(e.n+(s.min-i)*(min(s.items.least.need, tooMany/s.min)+1), tooMany)
			break
		}
		e.value(s.item(i))
	}
	e.put("]", 1)
}

// properties adds those that an object needs, and so many at least.
func (e *ender) properties(f *frame, more int) {
	s := f.object
	needed := s.neededFrom[f.next] + s.neededFree - int(f.needed)
	more = max(more, s.min-int(f.count)) - needed
	if !e.spell && s.tail != nil && more <= 0 && s.neededFree == int(f.needed) {
		e.n = min(e.n+s.tail[f.next], tooMany)
		return
	}
	comma := ""
	if f.count > 0 {
		comma = ","
	}
	add := func(name string, cost int, v *value) {
		e.put(comma+`"`+name+`":`, cost)
		e.value(v)
		comma = ","
	}
	for i := int(f.next); i < len(s.names); i++ {
		e.work++
		n := &s.names[i]
		if i >= s.ordered && f.has(n.name) || !n.value.possible {
			continue
		}
		if !n.required {
			if more <= 0 {
				continue
			}
			more--
		}
		add(n.escaped, s.costs[i], n.value)
	}
	for g := *f; more > 0 && e.n < tooMany && e.work <= e.bound; more-- {
		name, v, ok := e.another(&g, "", stringState{})
		if !ok {
			e.n = tooMany
			return
		}
		add(name, len(name)+4, v)
		g.used = &used{unescapeJSON(name), g.used}
		g.count++
	}
	if more > 0 {
		e.n = tooMany
	}
}

// another returns the end of a name that an object does not have or know, after its beginning in
// JSON, and the value that follows.
func (e *ender) another(f *frame, begun string, from stringState) (rest string, v *value, ok bool) {
	o := f.object
	if o.others == nil {
		return "", nil, false
	}
	rest, last, ok := e.ending(o.others, from, f.taken()+1, func(text string) bool {
		e.work += 8 + f.taken()
		name := unescapeJSON(begun + text)
		_, known := o.index[name]
		return !known && !f.has(name)
	})
	if v = o.values[0]; ok && o.others.table != nil {
		v = o.values[o.others.table.Kind[last.at]]
	}
	return rest, v, ok
}

// part adds the end of a text after a part.
func (e *ender) part(p *part) {
	f := p.frame
	switch p.kind {
	case partAfter, partEnd:
		e.rest(f)
	case partValue:
		e.value(p.value)
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
		e.shut(f, int(f.count)+1)
		e.rest(f.up)
	case partName:
		e.name(p)
	case partOther:
		e.other(p)
	case partColon:
		e.put(":", 1)
		e.value(p.value)
		e.rest(f)
	}
}

// mostTried bounds how many names or texts that begin like the text are compared.
const mostTried = 8

// name adds the end after a part of a known name.
func (e *ender) name(p *part) {
	names := p.frame.object.names
	add := func(i int32) {
		f, n := p.frame, &names[i]
		g, _ := f.after(int(i))
		if int(i) >= f.object.ordered {
			g.used = &used{n.name, f.used}
		}
		e.raw(n.escaped[p.at:]+`":`, true)
		e.value(n.value)
		e.rest(&g)
	}
	best, least := int32(-1), tooMany+1
	for _, i := range p.names[p.lo:min(p.hi, p.lo+mostTried)] {
		if n := e.trial(func() { add(i) }); n < least {
			best, least = i, n
		}
	}
	if !e.spell {
		e.put("", least)
		return
	}
	add(best)
}

// other adds the end after a part of another name.
func (e *ender) other(p *part) {
	f := p.frame
	text, v, ok := e.another(f, p.raw, p.string)
	if e.raw(text+`":`, ok); !ok {
		return
	}
	g, _ := f.afterOther()
	g.used = &used{unescapeJSON(p.raw + text), f.used}
	e.value(v)
	e.rest(&g)
}
