package grammar

// Inner forms: texts of other forms within those of a network, such as JSON that a schema accepts.

import (
	"fmt"
	"slices"

	"picogpt/constrain/internal/automaton"
)

// An Inner is a form whose whole texts a network reads. No text of it is empty.
type Inner interface {
	Start() any
	Accepts(state any) bool
	Same(a, b any) bool
	Covers(a, b any) bool                         // all that completes a text at b completes one at a
	Step(state any, b byte) (next any, err error) // nil if the byte may not follow
	// Below adds the open ids below a node of the trie, as Form.Mask does, and calls past with nodes
	// below it whose bytes end a text. It returns what a text needs at most after an id that it
	// added, -1 if it added none, and at least after one that it left out because of left.
	Below(node int, state any, open []uint64, left, steps int, past func(node int),
	) (most, over int, err error)
	Need(state any) int
	End(state any) []int
	Room(state any, most int) int // Roomy with so many; more than most if it is more
	Bytes() int
}

const (
	maxPlaces = 64   // in which a form was begun, after an id; forms that may begin at a place are fewer
	maxWays   = 2048 // of reading an id
)

var errWays = fmt.Errorf("an id can be read in more than %d ways", maxWays)

// fewer drops places in which a form was begun if they are too many: all but the first and the one
// that needs the fewest ids. A text can be completed from each place that is kept.
func (f *Form) fewer(places []place) []place {
	var begun []int
	for i, s := range places {
		if s.begun {
			begun = append(begun, i)
		}
	}
	if len(begun) <= maxPlaces {
		return places
	}
	least, nearest := automaton.Never, -1
	for _, i := range begun {
		if f.ends == nil {
			break
		}
		s := places[i]
		if need := f.ends.Need(s.at) + f.inner[s.form-1].Need(s.in); need < least {
			least, nearest = need, i
		}
	}
	var kept []place
	for i, s := range places {
		if !s.begun || i < begun[maxPlaces] || i == nearest {
			kept = append(kept, s)
		}
	}
	return kept
}

// add adds a place, the forms that begin there, and what follows a form that may end there. Places
// that differ only in what follows them are one, and one that another covers is none.
func (f *Form) add(set []place, s place) []place {
	covered := false
	i := slices.IndexFunc(set, func(t place) bool {
		if s.Partial != t.Partial || s.form != t.form {
			return false
		}
		if s.form == 0 || f.inner[s.form-1].Same(s.in, t.in) {
			return true
		}
		covered = s.begun && t.begun && s.at == t.at && f.inner[s.form-1].Covers(t.in, s.in)
		return covered
	})
	switch {
	case covered:
		return set
	case i >= 0:
		before := set[i].at
		if s.at = f.m.Join(before, s.at); s.at == before {
			return set
		}
		set[i] = s
	case len(set) >= maxWays:
		f.m.Err = errWays
		return set
	default:
		set = append(set, s)
	}
	switch {
	case s.form > 0:
		if f.inner[s.form-1].Accepts(s.in) {
			set = f.add(set, place{spot: s.spot})
		}
	case s.Form == automaton.Border:
		f.m.EachForm(s.at, func(form int) { set = f.add(set, f.begin(s.at, form)) })
	}
	return set
}

// A beginning is what follows one byte of a form; nil if the form does not begin with it.
type beginning struct {
	at   any
	need int // of Inner.Need, once there are ends
}

// beginnings returns those of a form, by their bytes.
func (f *Form) beginnings(form int) *[256]beginning {
	in, first := f.inner[form], f.first[form]
	if first == nil || f.ends != nil && !f.priced[form] {
		first = new([256]beginning)
		for b := range first {
			next, err := in.Step(in.Start(), byte(b))
			if err != nil && f.m.Err == nil {
				f.m.Err = err
			}
			if first[b].at = next; next != nil && f.ends != nil {
				first[b].need = in.Need(next)
			}
		}
		f.first[form], f.priced[form] = first, f.ends != nil
	}
	return first
}

// begin returns the place at the beginning of a form.
func (f *Form) begin(at *automaton.State, form int) place {
	return place{spot: spot{at: f.m.AfterForm(at, form)}, form: 1 + form, in: f.inner[form].Start()}
}

// runMixed is run where there are inner forms.
func (f *Form) runMixed(places []place, bytes []byte) (after []place) {
	for _, b := range bytes {
		after = nil
		for _, s := range places {
			if s.form > 0 {
				next, err := f.inner[s.form-1].Step(s.in, b)
				if err != nil {
					f.m.Err = err
				} else if next != nil {
					after = f.add(after, place{s.spot, s.form, next, true})
				}
			} else if s.at != automaton.Dead {
				if next, ok := f.stepByte(s.spot, b); ok {
					after = f.add(after, place{spot: next})
				}
			}
		}
		if places = after; len(places) == 0 || f.m.Err != nil {
			return nil
		}
	}
	return after
}

// Mixed reports whether there are inner forms.
func (f *Form) Mixed() bool { return len(f.inner) > 0 }

// maskInside sets the ids that may follow in an inner form, and across its end.
func (f *Form) maskInside(w *walk, s place) {
	if after := f.m.Current(s.at); f.ends != nil && after != automaton.Dead && !after.Roomy(anyNumber) {
		f.maskOf(spot{at: after}, make([]uint64, len(w.open)), anyNumber, w.steps) // roomyInside asks
	}
	w.inside(0, s)
}

// An entry is a state at which walks have gone on at nodes of the trie: in the rules, or in the forms
// that begin there.
type entry struct {
	at   *automaton.State
	form bool
}

func (w *walk) entered(node int, e entry) bool {
	if w.seen == nil {
		w.seen = map[entry][]uint64{}
	}
	nodes := w.seen[e]
	if nodes == nil {
		nodes = make([]uint64, len(w.f.vocab.Nodes)/64+1)
		w.seen[e] = nodes
	}
	was := nodes[node>>6]>>(node&63)&1 != 0
	nodes[node>>6] |= 1 << (node & 63)
	return was
}

// A begun has the places of the forms that begin at a state, and the bytes with which they do.
type begun struct {
	places []place
	first  [256]bool
}

// begin returns the forms that begin at a state.
func (w *walk) begin(at *automaton.State) *begun {
	known := w.begun[at]
	if known == nil {
		known = &begun{}
		w.f.m.EachForm(at, func(form int) {
			known.places = append(known.places, w.f.begin(at, form))
			for b, next := range w.f.beginnings(form) {
				known.first[b] = known.first[b] || next.at != nil
			}
		})
		if w.begun == nil {
			w.begun = map[*automaton.State]*begun{}
		}
		w.begun[at] = known
	}
	return known
}

// into sets the ids below a node whose bytes go on in the forms that begin at a state: most nodes
// have no byte with which one does.
func (w *walk) into(node int, at *automaton.State) {
	if !at.Reads() || w.entered(node, entry{at, true}) {
		return
	}
	v, begun := w.f.vocab, w.begin(at)
	for i, end := node+1, node+int(v.Nodes[node].Size); i < end; i += int(v.Nodes[i].Size) {
		n := &v.Nodes[i]
		if !begun.first[n.Byte] {
			continue
		}
		for _, s := range begun.places {
			b := &w.f.beginnings(s.form - 1)[n.Byte]
			if b.at == nil || !w.f.m.Spend(1) {
				continue
			}
			if n.ID >= 0 && w.Has(min(w.after(s)+b.need, automaton.Never)) {
				v.Open(w.open, n.ID)
			}
			if n.Size == 1 || w.full(i) || !w.f.m.Spend(3) {
				continue
			}
			if s.in = b.at; w.f.inner[s.form-1].Accepts(s.in) {
				w.past(i, s)
			}
			w.inside(i, s)
		}
	}
}

// after returns what a text needs after the form of a place.
func (w *walk) after(s place) int {
	if w.f.ends == nil {
		return 0
	}
	return w.f.ends.Need(s.at)
}

// inside sets the ids below a node whose bytes go on in a form, and those across its end.
func (w *walk) inside(node int, s place) {
	if w.f.m.Err != nil {
		return
	}
	left, need := w.Left, w.after(s)
	if left < anyNumber {
		left -= need
	}
	most, over, err := w.f.inner[s.form-1].Below(node, s.in, w.open, left, w.steps,
		func(node int) { w.past(node, s) })
	if most >= 0 {
		w.Least = max(w.Least, most+need)
	}
	if over < anyNumber {
		w.Under = min(w.Under, over+need)
	}
	if w.f.m.Err == nil {
		w.f.m.Err = err
	}
}

// past sets the ids below a node at which a form has ended: below the root they are those of another
// place.
func (w *walk) past(node int, s place) {
	if node > 0 && s.at != automaton.Dead && !w.entered(node, entry{s.at, false}) &&
		(w.f.ends != nil || !w.full(node)) {
		w.below(w.f.vocab.Nodes, node, s.spot)
		w.into(node, s.at)
		w.beyond(node, s.spot)
	}
}

// roomyInside is Roomy of a place in a form.
func (f *Form) roomyInside(s place, left int) bool {
	after := f.m.Current(s.at)
	if f.ends == nil || after != automaton.Dead && !after.Roomy(left) {
		return false
	}
	left -= f.ends.Need(after)
	return f.inner[s.form-1].Room(s.in, left) <= left
}

// leastTexts returns a short text of each inner form; none if one has no known end.
func (f *Form) leastTexts() (texts [][]byte) {
	for _, in := range f.inner {
		var text []byte
		if f.endless = f.endless || in.Need(in.Start()) >= automaton.Never; f.endless {
			return nil
		}
		for _, id := range in.End(in.Start()) {
			text = append(text, f.vocab.Bytes[id]...)
		}
		texts = append(texts, text)
	}
	return texts
}
