package grammar

import (
	"unicode/utf8"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/charset"
)

// Forced returns the bytes that must follow a state, at most so many and a character. It follows
// the rules while they read one character and nothing else.
func (f *Form) Forced(state any, most int) (forced []byte) {
	places := state.([]place)
	if len(places) != 1 || places[0].Form != charset.Border || f.Busy() {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.measure()
	f.m.Begin()
	for at := places[0].at; len(forced) < most; {
		r, ok := f.m.Only(at)
		if !ok {
			break
		}
		at = f.m.Step(at, f.m.Alpha.Of(r))
		if f.m.Err != nil || at == automaton.Dead {
			break
		}
		forced = utf8.AppendRune(forced, r)
	}
	return forced
}
