package schema

// Needed: what open containers still need, and their ends.

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
	if f.several != nil {
		var ends []part
		for _, g := range f.several {
			ends = append(ends, e.j.done(g))
		}
		best, least := e.nearest(ends)
		if e.rests[f] = least; e.spell {
			e.rest(f.several[best])
		} else {
			e.put("", least)
		}
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

// upAtMost adds what a container and those around it need at most, until it is more than most.
func (e *ender) upAtMost(f *frame, most int) {
	for ; f != nil && e.need <= most; f = f.up {
		if f.several == nil {
			e.atMost(f)
			continue
		}
		var worst size
		for _, g := range f.several {
			worst = worst.most(e.trial(func() { e.upAtMost(g, most) }))
		}
		e.add(worst, 0)
	}
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
	e.put(f.brackets()[1:], 1)
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
	e.put(f.brackets()[1:], 1)
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
			add(best, n.text, s.costs[i])
		}
	}
	for e.need < tooMany && (int(f.count) < s.min || !f.apart() || f.tally != all || begun) {
		p := part{kind: partOther, frame: f, str: s.other()}
		for _, o := range s.others {
			if f.tally != all && f.mayOther(o) {
				p.str = o.str
			}
		}
		var q part
		ok := p.str != nil
		if ok {
			name, at, found := e.another(f, p.str, "", stringState{})
			if q, ok = e.j.endOther(p.frame, p.str, name, at); ok && found {
				add(q, `"`+name+`"`, len(name)+4+len(e.j.comma+e.j.colon))
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
	text := name + ":" + e.j.colon
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
