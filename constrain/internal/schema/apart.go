package schema

// Apart: the ends of texts in arrays of unique items, which differ from what is there.

// spare returns what completes a value at most, after any of its beginnings if it is begun, and so that
// it differs from so many others; ok is false if that is not known.
func (e *ender) spare(v *value, others, depth int, begun bool) (n size, ok bool) {
	n.need = 5 // a word
	for _, s := range v.numbers {
		if s.any && s.whole && !begun {
			n.need = max(n.need, 6)
			continue
		}
		n.need = max(n.need, s.worst()+maxExact)
	}
	for _, s := range v.strings {
		worst := e.worst(s)
		if s.table == nil && s.max < 0 && s.texts == nil {
			if worst = s.min + 4; begun {
				worst += aCharacter
			}
		} else if s.texts == nil {
			if few := others >= mostChars; few && (s.table != nil || s.max >= 0) {
				return n, false
			}
			if worst += aCharacter * 2; s.table != nil && s.endless() { // each state comes again
				worst += (others + 1) * len(s.table.Kind)
			} else if s.table != nil {
				worst += len(s.table.Kind)
			}
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
		is := size{need: 2, lines: 1}
		for i := range s.names {
			if value := s.names[i].value; value.possible {
				is = is.plus(part(value))
				is.need += len(s.names[i].escaped) + 4 + len(e.j.comma+e.j.colon)
			}
		}
		if s.others != nil {
			other := size{}
			for _, value := range s.values {
				if value.possible {
					other = other.most(part(value))
				}
			}
			other.need += e.worst(s.others) + aCharacter + len(e.j.comma+e.j.colon)
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
	scalar := func(text string) *frame {
		e.raw(text, l.need < tooMany)
		return e.j.doneText(f, keptLeast(text)).frame
	}
	if !container && !among(rivals, keptLeast(l.text)) {
		return scalar(l.text)
	}
	for word := range v.words {
		if !among(rivals, word) {
			return scalar(word)
		}
	}
	for _, s := range v.numbers {
		p := numberPart(s, f)
		if g, ok := e.scalar(&p, true); ok {
			return g
		}
	}
	for _, s := range v.strings {
		p, before, n := stringPart(s, f), e.size, len(e.text)
		e.put(`"`, 1)
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
	return scalar(l.text)
}

// keptLeast returns what is kept of a scalar.
func keptLeast(text string) string {
	switch {
	case text == "" || text[0] >= 'a':
		return text
	case text[0] == '"':
		return keptString(text[1 : len(text)-1])
	}
	return keptText(text)
}

// scalar adds the end of a string or a number, one that differs from its rivals or, if none is known
// and it need not, another one. It returns the frame after it; ok is false if there is none.
func (e *ender) scalar(p *part, must bool) (after *frame, ok bool) {
	f, k, fresh := p.frame, 1, anyText
	if f.keeps() {
		rivals := f.rivals(f.name)
		k, fresh = len(rivals)+1, func(kept string) bool {
			e.work += 4 + len(rivals)
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
func (e *ender) apart(p *part, k int, ok func(kept string) bool) (text, kept string, found bool) {
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
	list := p.list()[p.lo:p.hi]
	if !p.frame.keeps() {
		list = list[:min(len(list), mostTried)]
	}
	for _, t := range list {
		if (!found || len(t) < len(text)) && ok(p.kept(t)) {
			text, kept, found = t, p.kept(t), true
		}
	}
	if found {
		text = text[p.at:] + map[partKind]string{partList: `"`}[p.kind]
	}
	return text, kept, found
}

// apart reports whether a container that ends here differs from its rivals, and its items differ if
// they must.
func (f *frame) apart() bool {
	if n := len(f.kids) - 1; f.unique() {
		return n < 0 || !among(f.kids[:n], f.kids[n].text)
	}
	return len(f.same) == 0 || f.longer()
}
