package schema

// Apart: the ends of texts in arrays of unique items, which differ from what is there.

// spare returns what completes a value at most, after any of its beginnings if it is begun, and so that
// it differs from so many others; ok is false if that is not known.
func (e *ender) spare(v *value, others, depth int, begun bool) (n size, ok bool) {
	n.need = 5 // a word
	for _, p := range v.scalars {
		worst := e.worst(p)
		switch s := p.str; {
		case p.kind == partNumber && p.number.any && p.number.whole && !begun:
			worst = 6
		case p.kind == partNumber:
			worst += maxExact
		case p.kind == partList:
		case s.table == nil && s.max < 0:
			if worst = s.min + 4; begun {
				worst += aCharacter
			}
		case others >= mostChars:
			return n, false
		case s.table == nil:
			worst += aCharacter * 2
		case s.endless(): // each state comes again
			worst += aCharacter*2 + (others+1)*len(s.table.Kind)
		default:
			worst += aCharacter*2 + len(s.table.Kind)
		}
		n.need = max(n.need, worst)
	}
	if depth > maxAlike && len(v.arrays)+len(v.objects) > 0 {
		return n, false
	}
	part := func(v *value) size {
		is, known := e.spare(v, others, depth+1, begun)
		ok = ok && known
		return size{is.need, is.lines + 1, is.height + 1}
	}
	ok = true
	for _, s := range v.arrays {
		if s.unique || s.tally != nil || s.min > mostTried || len(s.prefix) > mostTried {
			return n, false
		}
		is := size{need: 2, lines: 1}
		for i := range max(s.min, len(s.prefix)) + 1 {
			if item := s.item(i); item.possible {
				is = is.plus(part(item))
				is.need += e.j.ends.comma
			}
		}
		n = n.most(is)
	}
	for _, s := range v.objects {
		if s.somes > 0 || s.min > mostTried || len(s.names) > 64 {
			return n, false
		}
		is, other := size{need: 2, lines: 1}, size{}
		s.each(func(name int, value *value) {
			switch {
			case !value.possible || name < 0 && s.other() == nil:
			case name < 0:
				other = other.most(part(value))
			default:
				is = is.plus(part(value))
				is.need += len(s.names[name].text) + 2 + len(e.j.comma+e.j.colon)
			}
		})
		if s.other() != nil {
			other.need += e.worst(stringPart(s.other())) + aCharacter + len(e.j.comma+e.j.colon)
			is = is.plus(other.times(max(s.min, 1)))
		}
		n = n.most(is)
	}
	return n, ok
}

// plus returns what two texts need together.
func (s size) plus(t size) size {
	return size{min(s.need+t.need, tooMany), s.lines + t.lines, max(s.height, t.height)}
}

// spareItem is spare of an item of an array of unique items, in which there are so many.
func (e *ender) spareItem(s *arraySpec, items int, begun bool) (n size, ok bool) {
	const more = 8 // that one id adds
	ok = s.tally == nil
	for i := 0; i <= len(s.prefix) && ok; i++ {
		var is size
		if item := s.item(i); item.possible {
			is, ok = e.spare(item, items+s.min+more, 0, begun)
		}
		n = n.most(is)
	}
	return n, ok
}

// unlike adds a value in a frame that keeps its values, which differs from its rivals if it can; else
// the least. It returns the frame after it.
func (e *ender) unlike(v *value, f *frame) *frame {
	rivals := f.rivals(f.name)
	e.work += 8 + len(rivals)
	l := &v.least
	container := l.array != nil || l.object != nil
	least := func() *frame {
		e.raw(l.text, l.need < tooMany)
		return e.j.doneText(f, kept(l.text)).frame
	}
	if !container && !among(rivals, kept(l.text)) {
		return least()
	}
	for _, s := range v.scalars {
		p, before, n := s.within(f), e.size, len(e.text)
		if p.rest != "" {
			e.put(p.rest, 1)
		}
		if g, ok := e.scalar(&p, true); ok {
			return g
		}
		e.size, e.text = before, e.text[:n]
	}
	for _, s := range v.arrays {
		if g := f.open(nil, s); g.differs(0) {
			return e.container(g)
		}
	}
	for _, s := range v.objects {
		if g := f.open(s, nil); g.differs(0) {
			return e.container(g)
		}
	}
	if container {
		return e.container(f.open(l.object, l.array))
	}
	return least()
}

// scalar adds the end of a string or a number, one that differs from its rivals or, if none is known
// and it need not, another one. It returns the frame after it; ok is false if there is none.
func (e *ender) scalar(p *part, must bool) (after *frame, ok bool) {
	f, k, fresh := p.frame, 1, anyText
	if f.keeps() {
		rivals := f.rivals(f.name)
		k, fresh = len(rivals)+1, func(kept string) bool {
			if kept[0] < 'a' { // no word
				e.work += 4 + len(rivals)
			}
			return !among(rivals, kept)
		}
	}
	text, kept, found := e.apart(p, k, fresh)
	if !found && !must && f.keeps() {
		text, kept, found = e.apart(p, 1, anyText)
	}
	if !found {
		return nil, false
	}
	e.raw(text, true)
	return e.j.doneText(f, kept).frame, true
}

// apart returns the end of a string or a number that is kept as a text that ok takes, and that text.
func (e *ender) apart(p *part, k int, ok func(kept string) bool) (text, as string, found bool) {
	is := func(text string) string { return keptString(p.raw + text) }
	switch p.kind {
	case partString:
		text, _, found = e.ending(p.str, p.string, k, func(text string) bool { return ok(is(text)) })
		return text + `"`, is(text), found
	case partNumber:
		is = func(text string) string { return keptNumber(p.raw+text, p.number.whole) }
		text, found = e.number(p.number, p.digits, k, func(text string) bool { return ok(is(text)) })
		return text, is(text), found
	}
	list := (*p.texts)[p.lo:p.hi]
	if !p.frame.keeps() {
		list = list[:min(len(list), mostTried)]
	}
	for _, t := range list {
		if k := kept(t); (!found || len(t) < int(p.at)+len(text)) && ok(k) {
			text, as, found = t[p.at:], k, true
		}
	}
	return text, as, found
}

// apart reports whether a container that ends here differs from its rivals, and its items differ if
// they must.
func (f *frame) apart() bool {
	if n := len(f.kids) - 1; f.unique() {
		return n < 0 || !among(f.kids[:n], f.kids[n].text)
	}
	return len(f.same) == 0 || f.longer()
}
