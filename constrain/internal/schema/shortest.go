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
	type place struct {
		of *stringSpec
		at stringState
	}
	var key any // nothing is kept of strings of any characters
	if s.table != nil {
		key = place{s, st}
	}
	begun, st := s.begun(st)
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
	text, last, found = shortest(e, key, st, k, func(text string) bool { return ok(begun + text) }, far, each, s.mayEnd)
	return begun + text, last, found
}

// digits are some characters of the only class of strings without a table.
var digits = [][]string{strings.Split("0123456789abcdefghijklmnopqrstuvwxyzABCD", "")}

// begun completes a character, if one is begun: each byte that may follow leads to one.
func (s *stringSpec) begun(st stringState) (text string, after stringState) {
	const bytes = `nt"\/u0123456789abcdefABCDEF`
	for i := 0; i < len(bytes)+64 && st.Form != automaton.Border; i++ {
		b := byte(0x80 + i - len(bytes))
		if i < len(bytes) {
			b = bytes[i]
		}
		if next, verdict := s.step(st, b); verdict == goesOn {
			text, st, i = text+string([]byte{b}), next, -1
		}
	}
	return text, st
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
	each := func(st numberState, to func(numberState, string)) {
		for _, b := range []byte("e-.9876543210") {
			if next, ok := s.step(st, b); ok {
				to(next, string([]byte{b}))
			}
		}
	}
	type place struct {
		of *numberSpec
		at numberState
	}
	far := func(numberState) int { return 0 }
	text, _, found = shortest(e, place{s, st}, st, k, ok, far, each, s.accepts)
	return text, found
}

// shortest returns the shortest text that ok takes with which a state can end, and the state there. It
// keeps those of one way by a key, if there is one.
func shortest[S comparable](e *ender, key any, from S, k int, ok func(string) bool, far func(S) int,
	each func(S, func(S, string)), ends func(S) bool) (text string, last S, found bool) {
	type end struct {
		text string
		at   S
	}
	if c, known := e.known[key].(end); known && k == 1 && ok(c.text) {
		return c.text, c.at, true
	}
	text, last, found = search(&e.steps, &e.work, e.most, from, k, far, each,
		func(at S, text string) bool { return ends(at) && ok(text) })
	if found && k == 1 && key != nil {
		e.known[key] = end{text, last}
	}
	return text, last, found
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
