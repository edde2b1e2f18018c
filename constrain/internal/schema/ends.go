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
		e.upAtMost(f, most)
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
	known  map[any]any // shortest ends, by spec and state
	counts map[string]int
}

func (j *Form) ender() *ender {
	return &ender{j: j, most: mostSteps, bound: mostFirst, rests: map[*frame]int{}, known: map[any]any{},
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
	case l.text == "":
		e.container(f.open(l.object, l.array))
	default:
		e.put(l.text, l.need)
	}
}

// container adds all of a container that begins, and returns the frame after it.
func (e *ender) container(f *frame) *frame {
	e.put(f.brackets()[:1], 1)
	return e.shut(f, false)
}

// part adds the end of a text after a part.
func (e *ender) part(p *part) {
	f := p.frame
	if f != nil && f.several != nil && (p.kind == partName || p.kind == partOther) {
		list := p.alone()
		best, _ := e.nearest(list)
		e.part(&list[best])
		return
	}
	if p.rest != "" {
		e.raw(p.rest, true)
	}
	if f.keeps() && p.kind != partName && p.kind != partOther {
		e.work += 24
	}
	switch p.kind {
	case partAfter:
	case partEnd:
		e.put(f.brackets()[1:], 1)
		f = e.j.doneContainer(f).frame
	case partValue:
		f = e.follow(p.value, f)
	case partKey:
		f = e.shut(f, true)
	case partColon:
		e.raw(":"+e.j.colon, true)
		f = e.follow(p.value, f)
	case partName:
		e.name(p)
		return
	case partOther:
		e.other(p)
		return
	case partString, partNumber, partList:
		var ok bool
		if f, ok = e.scalar(p, false); !ok {
			e.need = tooMany
		}
	}
	e.rest(f)
}

// name adds the end after a part of a known name.
func (e *ender) name(p *part) {
	var best func()
	least := tooMany + 1
	for _, text := range (*p.texts)[p.lo:min(p.hi, p.lo+mostTried)] {
		for _, q := range e.j.named(nil, p.frame, p.frame.object.index[unescapeJSON(text[1:len(text)-1])]) {
			end := func() {
				e.raw(text[p.at:], true)
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
		if q, ok = e.j.endOther(p.frame, p.str, p.raw+text, at); ok {
			e.raw(text+`"`, true)
			e.part(&q)
		}
	}
	if !ok {
		e.need = tooMany
	}
}
