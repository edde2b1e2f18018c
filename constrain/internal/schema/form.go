package schema

// Form: the text of a value, byte by byte. Open containers are a stack of frames. A part is what is
// being read. If a text can be read in several ways, each way is a part.

import (
	"fmt"
	"slices"
	"sort"
	"strings"
)

// A Form follows texts of JSON. Any number of texts may use it concurrently.
type Form struct {
	vocab *Vocabulary
	first *value
	after uint8 // white space after : and ,
	other uint8 // and at other positions

	// exactly what comes after a comma and a colon, and with Indent what begins a line
	comma, colon, line string

	known map[string]bool // the names of all properties

	masks lexMasks
	fixed int // bytes of memory, without the masks
	ends  ends
}

func newJSON(v *Vocabulary, first *value, all []*value, o Options, exact bool) *Form {
	j := &Form{vocab: v, first: first, fixed: weigh(all), known: map[string]bool{}}
	for _, v := range all {
		for _, o := range v.objects {
			for i := range o.names {
				j.known[o.names[i].name] = true
			}
		}
	}
	switch {
	case exact:
		if j.comma, j.colon = o.Comma[1:], o.Colon[1:]; o.Indent != "" {
			j.line = "\n" + o.Indent
		}
	case o.Space == 0:
		j.after = 1
	case o.Space > 0:
		j.after, j.other = uint8(o.Space), uint8(o.Space)
	}
	return j
}

// Bytes returns the memory in bytes, approximately.
func (j *Form) Bytes() int { return j.fixed + int(j.masks.held.Load()) }

// Busy reports whether accept may have to wait: only masks take locks.
func (j *Form) Busy() bool { return false }

// Start returns the state of an empty text.
func (j *Form) Start() any { return []part{{kind: partValue, value: j.first}} }

// Accepts reports whether a text may end.
func (j *Form) Accepts(state any) bool { return complete(state.([]part)) }

// Accept returns the state after an id, or nil if the id is not open.
func (j *Form) Accept(state any, id int) (any, error) {
	bytes := j.vocab.Bytes[id]
	for _, b := range bytes {
		next, err := j.Step(state, b)
		if state = next; next == nil {
			return nil, err
		}
	}
	if len(bytes) == 0 {
		return nil, nil
	}
	return state, nil
}

// Step returns the state after a byte, or nil if it may not follow.
func (j *Form) Step(state any, b byte) (any, error) {
	work := 0
	parts, err := j.stepAll(nil, state.([]part), b, &work)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	return parts, nil
}

// Same reports whether two states are equal.
func (j *Form) Same(a, b any) bool {
	return slices.EqualFunc(a.([]part), b.([]part), part.equal)
}

// Covers reports whether all that completes a text at b completes one at a.
func (j *Form) Covers(a, b any) bool {
	return slices.EqualFunc(a.([]part), b.([]part), func(p, q part) bool {
		if p.kind == partNumber && p.number == q.number && p.number.longer(p.digits, q.digits) {
			p.digits.point, p.digits.digits = q.digits.point, q.digits.digits
			p.digits.lo, p.digits.hi = q.digits.lo, q.digits.hi
		}
		return p.equal(q)
	})
}

// ends reports whether a part may end here. It is for parts that have no last byte of their own.
func (p *part) ends() bool {
	switch p.kind {
	case partNumber:
		return p.number.accepts(p.digits)
	case partList: // of numbers; others are done
		return int(p.at) == len(p.text(p.lo))
	}
	return false
}

// done returns the part after a value.
func (j *Form) done(f *frame) part {
	if f == nil {
		return part{}
	}
	return part{kind: partAfter, frame: f, space: j.other}
}

// begin returns what comes before an item or a name in a frame, and before its end.
func (j *Form) begin(f *frame) string {
	if j.line == "" {
		return ""
	}
	return j.line[:1] + strings.Repeat(j.line[1:], f.depth())
}

func isSpace(b byte) bool { return b == ' ' || b == '\n' || b == '\t' }

// step appends the parts after a byte.
func (j *Form) step(to []part, p *part, b byte) []part {
	if p.space > 0 && isSpace(b) && (b == ' ' || j.other > 0) {
		q := *p
		q.space--
		return append(to, q)
	}
	if p.rest != "" {
		if q := *p; p.rest[0] == b {
			q.rest = p.rest[1:]
			to = append(to, q)
		}
		return to
	}
	switch p.kind {
	case partValue:
		return j.stepValue(to, p, b)
	case partString:
		return j.stepString(to, p, b)
	case partOther:
		return j.stepOther(to, p, b)
	case partList, partName:
		return j.stepList(to, p, b)
	case partNumber:
		return j.stepNumber(to, p, b)
	case partKey:
		if b == '"' {
			return p.frame.key(to)
		}
	case partColon:
		if b == ':' {
			q := *p
			q.kind, q.space, q.rest = partValue, j.after, j.colon
			return append(to, q)
		}
	case partAfter, partEnd:
		if p.frame.several == nil {
			return j.stepAfter(to, p, b)
		}
		for _, f := range p.frame.several {
			q := *p
			q.frame = f
			to = j.stepAfter(to, &q, b)
		}
	}
	return to
}

// stepValue begins a value.
func (j *Form) stepValue(to []part, p *part, b byte) []part {
	v := p.value
	switch b {
	case '{':
		for _, s := range v.objects {
			f := p.frame.open(s, nil)
			if f.mayContinue() {
				to = append(to, part{kind: partKey, frame: f, space: j.other, rest: j.begin(f)})
			}
			if s.mayClose(f) {
				to = append(to, part{kind: partEnd, frame: f, space: j.other})
			}
		}
	case '[':
		for _, s := range v.arrays {
			f := p.frame.open(nil, s)
			to = j.items(to, f, j.other, j.begin(f))
			if s.mayClose(f) {
				to = append(to, part{kind: partEnd, frame: f, space: j.other})
			}
		}
	default:
		for i := range v.scalars {
			s := &v.scalars[i]
			if !s.begins(b) {
				continue
			}
			switch q := s.within(p.frame); {
			case q.rest != "":
				q.rest = ""
				to = append(to, q)
			case q.kind == partNumber:
				to = j.stepNumber(to, &q, b)
			default:
				to = j.stepList(to, &q, b)
			}
		}
	}
	return to
}

// within returns a part in a frame.
func (p part) within(f *frame) part {
	p.frame = f
	return p
}

// items appends the parts of the next item of an array.
func (j *Form) items(to []part, f *frame, space uint8, rest string) []part {
	s, g := f.array, *f
	if g.count++; s.max >= 0 && int(g.count) > s.max {
		return to
	}
	add := func(g frame, v *value) {
		to = append(to, part{kind: partValue, frame: &g, value: v, space: space, rest: rest})
	}
	if s.tally == nil {
		add(g, s.item(int(f.count)))
		return to
	}
	for _, o := range s.tally.at(int(f.count)) {
		next, ok := s.tally.add(f.tally, o.bits)
		if g.tally = next; ok && o.value.possible && s.tally.reaches(s, int(g.count), next) {
			add(g, o.value)
		}
	}
	return to
}

func (j *Form) stepString(to []part, p *part, b byte) []part {
	st, verdict := p.str.step(p.string, b)
	switch verdict {
	case closes:
		return append(to, j.doneString(p, p.raw))
	case goesOn:
		q := *p
		if q.string = st; p.frame.keeps() {
			q.raw += string([]byte{b})
		}
		return append(to, q)
	}
	return to
}

// narrow returns the range of a part's texts or names that have b next. They are sorted.
func (p *part) narrow(b byte) (lo, hi int32) {
	at := int(p.at)
	if lo, hi = p.lo, p.hi; hi-lo == 1 {
		if t := p.text(lo); len(t) <= at || t[at] != b {
			hi = lo
		}
		return lo, hi
	}
	begins := func(least int) int32 { // the first whose byte there is at least least
		return lo + int32(sort.Search(int(hi-lo), func(i int) bool {
			t := p.text(lo + int32(i))
			return len(t) > at && int(t[at]) >= least
		}))
	}
	return begins(int(b)), begins(int(b) + 1)
}

// doneString returns the part after a string, whose bytes are kept where items differ.
func (j *Form) doneString(p *part, raw string) part {
	if !p.frame.keeps() {
		return j.done(p.frame)
	}
	return j.doneText(p.frame, keptString(raw))
}

// stepList continues one of some texts, and ends it with its last byte if it is no number.
func (j *Form) stepList(to []part, p *part, b byte) []part {
	q := *p
	q.lo, q.hi = p.narrow(b)
	if q.at++; q.lo == q.hi {
		return j.endNumber(to, p, b)
	}
	text := q.text(q.lo)
	switch {
	case int(q.at) < len(text) || isDigit(b):
		return append(to, q)
	case p.kind == partName:
		name := unescapeJSON(text[1 : len(text)-1])
		for _, f := range p.frame.each() {
			to = j.named(to, f, f.object.index[name])
		}
		return to
	}
	return append(to, j.doneText(p.frame, kept(text)))
}

// stepNumber continues a number, or ends it with a byte after it.
func (j *Form) stepNumber(to []part, p *part, b byte) []part {
	digits, ok := p.number.step(p.digits, b)
	if !ok {
		return j.endNumber(to, p, b)
	}
	q := *p
	if q.digits = digits; p.frame.keeps() {
		q.raw += string([]byte{b})
	}
	return append(to, q)
}

// endNumber ends a number with a byte after it.
func (j *Form) endNumber(to []part, p *part, b byte) []part {
	if p.frame == nil || !p.ends() {
		return to
	}
	after := j.done(p.frame)
	if p.frame.keeps() {
		text := ""
		if p.kind == partList {
			text = kept(p.text(p.lo))
		} else {
			text = keptNumber(p.raw, p.number.whole)
		}
		if after = j.doneText(p.frame, text); !after.fresh() {
			return to
		}
	}
	return j.step(to, &after, b)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// stepAfter ends a container or continues with its next part.
func (j *Form) stepAfter(to []part, p *part, b byte) []part {
	f := p.frame
	if j.line != "" && p.kind == partAfter && b != ',' {
		if b == '\n' && f.mayClose() {
			to = append(to, part{kind: partEnd, frame: f, rest: j.begin(f.up)[1:]})
		}
		return to
	}
	switch {
	case b == f.brackets()[1] && f.mayClose():
		return append(to, j.doneContainer(f))
	case p.kind == partEnd || b != ',':
	case f.object != nil:
		if f.mayContinue() {
			return append(to, part{kind: partKey, frame: f, space: j.after, rest: j.comma + j.begin(f)})
		}
	default:
		return j.items(to, f, j.after, j.comma+j.begin(f))
	}
	return to
}

// stepAll appends the parts after a byte for all parts, without duplicates. It adds the cost to
// work.
func (j *Form) stepAll(
	to []part, parts []part, b byte, work *int,
) ([]part, error) {
	first := len(to)
	for i := range parts {
		*work += parts[i].cost()
		n := len(to)
		to = j.step(to, &parts[i], b)
		to = freshParts(to, n, work)
	}
	if n := len(to) - first; n > 1 {
		to = to[:first+distinctParts(to[first:], work)]
	}
	if len(to)-first > maxParts {
		return to, fmt.Errorf("schema: the text can be read in more than %d ways", maxParts)
	}
	return to, nil
}
