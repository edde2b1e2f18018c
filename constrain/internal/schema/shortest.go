package schema

// Shortest: the shortest ends of strings and numbers, found by a search through their states.

import (
	"slices"
	"strings"
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
)

// mostChars is how many characters of a class are tried.
const mostChars = 40

// chars returns some characters of each class of a table, as in JSON, the plainest first.
func (e *ender) chars(t *automaton.Table) [][]string {
	if chars := e.j.ends.chars[t]; chars != nil {
		return chars
	}
	chars := make([][]string, len(t.Alpha.Members))
	add := func(class uint16, c rune) {
		if len(chars[class]) == mostChars || !utf8.ValidRune(c) {
			return
		}
		if text := escapeJSON(string(c)); !slices.Contains(chars[class], text) {
			chars[class] = append(chars[class], text)
		}
	}
	for c := ' '; c <= '~'; c++ {
		add(t.Alpha.ASCII[c], c)
	}
	for piece, class := range t.Alpha.Pieces(0, utf8.MaxRune) {
		for c := piece.Lo; c <= min(piece.Hi, piece.Lo+mostChars); c++ {
			add(class, c)
		}
	}
	if e.flat { // later, several texts may read it
		e.j.ends.chars[t] = chars
	}
	return chars
}

// ending returns the shortest end of a string, without its quote, and the state there: an end that
// ok takes; of each state on the way it follows k ways.
func (e *ender) ending(
	s *stringSpec, st stringState, k int, ok func(text string) bool,
) (text string, last stringState, found bool) {
	if k > 1 { // mostly one way is enough
		if text, last, found = e.ending(s, st, 1, anyText); found && ok(text) {
			return text, last, true
		}
	}
	type place struct {
		of *stringSpec
		at stringState
	}
	if s.max < 0 {
		st.n = min(st.n, int32(s.min)) // more make no difference
	}
	if missing := s.min - int(st.n); s.table == nil && st.Form == automaton.Border && missing >= 0 &&
		missing <= mostFar {
		st.n = int32(s.min)
		if text = strings.Repeat("0", missing); ok(text) {
			return text, st, true
		}
		st.n -= int32(missing)
	}
	key := place{s, st}
	if s.table != nil && k == 1 {
		if c, known := e.known[key]; known && ok(c.text) {
			return c.text, c.at, true
		}
	}
	begun := ""
	for st.Form != automaton.Border { // each byte that may follow leads to a character
		const bytes = `nt"\/u0123456789abcdefABCDEF`
		next, verdict := st, impossible
		for i := 0; i < len(bytes)+64 && verdict == impossible; i++ {
			b := byte(0x80 + i - len(bytes))
			if i < len(bytes) {
				b = bytes[i]
			}
			if next, verdict = s.step(st, b); verdict == goesOn {
				begun += string([]byte{b})
			}
		}
		if st = next; verdict != goesOn {
			return "", st, false
		}
	}
	if s.mayEnd(st) && ok(begun) {
		return begun, st, true
	}
	digits := [][]string{strings.Split("0123456789abcdefghijklmnopqrstuvwxyzABCD", "")}
	far := func(st stringState) int {
		n := max(0, s.min-int(st.n))
		switch {
		case s.table == nil:
		case s.max < 0:
			n = s.table.Nearest(st.at, n, -1)
		default:
			n = s.table.Nearest(st.at, n, s.max-int(st.n))
		}
		return n
	}
	each := func(st stringState, to func(stringState, string)) {
		chars, row := digits, []int32{0}
		if s.table != nil {
			chars, row = e.chars(s.table), s.table.Row(st.at)
		}
		for class, at := range slices.Backward(row) { // the last one is followed first
			next := stringState{at: at, n: st.n + 1}
			if at < 0 || !s.live(next) {
				continue
			}
			for _, c := range slices.Backward(chars[class][:min(k, len(chars[class]))]) {
				to(next, c)
			}
		}
	}
	ends := func(st stringState, text string) bool { return s.mayEnd(st) && ok(begun+text) }
	text, last, found = search(&e.steps, &e.work, e.most, st, k, far, each, ends)
	if text = begun + text; found && k == 1 && s.table != nil {
		e.known[key] = closed{text, last}
	}
	return text, last, found
}

// number is ending of a number.
func (e *ender) number(
	s *numberSpec, st numberState, k int, ok func(text string) bool,
) (text string, found bool) {
	if s.accepts(st) && ok("") {
		return "", true
	}
	if side := s.side(st); st.phase == numberDigits && !s.wide && int(st.point) > max(1, side.lo.point) &&
		int(st.point)+2*s.figures+8 < side.hi.point { // how many they are makes no difference
		st.point, st.lo, st.hi = int16(max(1, side.lo.point)+1), 1, -1
	}
	type place struct {
		of *numberSpec
		at numberState
	}
	key := place{s, st}
	if k == 1 {
		if c, known := e.known[key]; known && ok(c.text) {
			return c.text, true
		}
		defer func() {
			if found {
				e.known[key] = closed{text: text}
			}
		}()
	}
	each := func(st numberState, to func(numberState, string)) {
		for _, b := range []byte("e-.9876543210") {
			if next, ok := s.step(st, b); ok {
				to(next, string([]byte{b}))
			}
		}
	}
	ends := func(st numberState, text string) bool { return s.accepts(st) && ok(text) }
	text, _, found = search(&e.steps, &e.work, e.most, st, k, func(numberState) int { return 0 }, each, ends)
	return text, found
}

// search returns the shortest text with which a state can end, and the state there. far is how many
// steps a state needs at least, -1 if it has no end. Of each state it follows k ways.
func search[S comparable](steps, work *int, most int, from S, k int, far func(S) int, each func(S, func(S, string)),
	ends func(S, string) bool) (text string, last S, ok bool) {
	type way struct {
		at    S
		text  string
		steps int
	}
	var todo [][]way // by the steps so far and those needed; the newest first
	add := func(w way) {
		n := far(w.at)
		if n < 0 || n > mostFar {
			return
		}
		for n += w.steps; len(todo) <= n; {
			todo = append(todo, nil)
		}
		todo[n] = append(todo[n], w)
	}
	add(way{at: from})
	seen := map[S]int{}
	for n, looked := 0, 0; n < len(todo) && looked < mostLooked && *steps < most; {
		if len(todo[n]) == 0 {
			n++
			continue
		}
		w := todo[n][len(todo[n])-1]
		todo[n] = todo[n][:len(todo[n])-1]
		if seen[w.at]++; seen[w.at] > k {
			continue
		}
		if ends(w.at, w.text) {
			return w.text, w.at, true
		}
		looked++
		*steps++
		each(w.at, func(to S, c string) {
			*work += 2
			add(way{to, w.text + c, w.steps + 1})
		})
	}
	return "", from, false
}
