package schema

// Ways: texts that can be read in many ways cost little more than those of one.

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// after returns the parts after a text, and the work of the mask there.
func after(t *testing.T, f *Form, text string) (parts []part, work int) {
	t.Helper()
	state := f.Start()
	for i := range len(text) {
		if state, _ = f.Step(state, text[i]); state == nil {
			t.Fatalf("%s: byte %d does not follow", text, i)
		}
	}
	parts = state.([]part)
	w := &jsonWalk{j: f, open: make([]uint64, gpt2().Words()), most: maxVisits}
	w.all(0, parts)
	return parts, w.work
}

// TestPatternsOfManyWaysAreReadOnce: strings of which one of 32 combinations of patterns must match
// have one part, and are those that the patterns match.
func TestPatternsOfManyWaysAreReadOnce(t *testing.T) {
	var list []string
	for i := range 5 {
		list = append(list, fmt.Sprintf(`{"anyOf":[{"pattern":"a%d"},{"pattern":"%db"}]}`, i, i))
	}
	f := compile(t, `{"type":"string","maxLength":30,"allOf":[`+strings.Join(list, ",")+`]}`, Options{})
	parts, work := after(t, f, `"`)
	if len(parts) > 4 || work > 500000 {
		t.Errorf("%d parts, %d visits, want 4 parts and 500000 visits at most", len(parts), work)
	}
	for _, text := range []string{"a0a1a2a3a4", "0b1b2b3b4b", "a0a1a2a3b4", "a0 1b a2 3b a4", "a0a1a2a3", "",
		"0ba1xx2b3ba4", "a0b1b2b3b4b", "0ba1 2b a3 4b and more than thirty"} {
		want := len(text) <= 30
		for i := range 5 {
			want = want && regexp.MustCompile(fmt.Sprintf("a%d|%db", i, i)).MatchString(text)
		}
		if got := accepts(f, `"`+text+`"`); got != want {
			t.Errorf("%q: accepted %v, want %v", text, got, want)
		}
	}
}

// TestWaysAroundAValueAreReadOnce: in a value of an object of many alternatives there is one part, and
// the alternatives are told apart again behind it.
func TestWaysAroundAValueAreReadOnce(t *testing.T) {
	var list []string
	for i := range 6 {
		list = append(list, fmt.Sprintf(`{"anyOf":[{"required":["a%d"]},{"required":["b%d"]}]}`, i, i))
	}
	f := compile(t, `{"properties":{"x":{"type":"object","properties":{"y":{"type":"string"}}}},
		"type":"object","allOf":[`+strings.Join(list, ",")+`]}`, Options{AnyOrder: true})
	for _, x := range []struct {
		text        string
		parts, work int
	}{
		{`{"x":`, 1, 1000},
		{`{"x":{"`, 2, 80000},
		{`{"x":{"y":"`, 1, 80000},
		{`{"x":{"y":"z`, 1, 4000},
	} {
		if parts, work := after(t, f, x.text); len(parts) > x.parts || work > x.work {
			t.Errorf("%s: %d parts, %d visits, want %d and %d at most", x.text, len(parts), work, x.parts,
				x.work)
		}
	}
	for text, want := range map[string]bool{
		`{"x":{"y":"z"},"a0":1,"a1":1,"a2":1,"b3":1,"b4":1,"b5":1}`:        true,
		`{"a0":1,"a1":1,"a2":1,"b3":1,"b4":1,"b5":1,"x":{}}`:               true,
		`{"x":{"y":"z"},"a0":1,"a1":1,"a2":1,"b3":1,"b4":1}`:               false,
		`{"x":{"y":1},"a0":1,"a1":1,"a2":1,"b3":1,"b4":1,"b5":1}`:          false,
		`{"x":{"y":"z"},"a0":1,"b0":1,"a1":1,"a2":1,"b3":1,"b4":1,"b5":1}`: true,
	} {
		if got := accepts(f, text); got != want {
			t.Errorf("%s: accepted %v, want %v", text, got, want)
		}
	}
}

// TestFewNamesHaveStoredMasks: where names have four characters, a mask compares only what begins like
// names that are used, and leaves out these.
func TestFewNamesHaveStoredMasks(t *testing.T) {
	f := compile(t, `{"type":"object","propertyNames":{"pattern":"^....$"}}`, Options{AnyOrder: true})
	text := `{"`
	for i := range 30 {
		text += fmt.Sprintf(`n%03d":0,"`, i)
	}
	for _, text := range []string{text, text + `n`, text + `n02`} {
		if _, work := after(t, f, text); work > 5000 {
			t.Errorf("%s: %d visits, want 5000 at most", text, work)
		}
	}
	if accepts(f, text+`n029":0}`) || !accepts(f, text+`n030":0}`) {
		t.Error("a name that is used is taken again, or another one is not")
	}
}

// TestNamesOfManyWaysAreReadOnce: objects of 256 ways have a part for each name, not for each way, and
// what follows their other names is followed once.
func TestNamesOfManyWaysAreReadOnce(t *testing.T) {
	var list []string
	for i := range 8 {
		list = append(list, fmt.Sprintf(`{"anyOf":[{"required":["a%d"],"properties":{"a%d":{"type":"string"}}},`+
			`{"required":["b%d"],"properties":{"b%d":{"type":"integer"}}}]}`, i, i, i, i))
	}
	f := compile(t, `{"type":"object","allOf":[`+strings.Join(list, ",")+`]}`, Options{AnyOrder: true})
	for _, text := range []string{`{"`, `{"x":1,"`, `{"a1":"","b2":2,"`} {
		if parts, work := after(t, f, text); len(parts) > 20 || work > 60000 {
			t.Errorf("%s: %d parts, %d visits, want 20 parts and 60000 visits at most", text, len(parts), work)
		}
	}
	for text, want := range map[string]bool{
		`{"a0":"","a1":"","b2":2,"b3":3,"a4":"","a5":"","a6":"","b7":7}`: true,
		`{"a0":"","a1":"","b2":2,"b3":3,"a4":"","a5":"","a6":""}`:        false,
		`{"a0":"","a1":"","b2":2,"b3":3,"a4":"","a5":"","a6":"","b7":""`: false,
	} {
		state := f.Start()
		for i := 0; i < len(text) && state != nil; i++ {
			state, _ = f.Step(state, text[i])
		}
		if got := state != nil && f.Accepts(state); got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

// TestNumbersThatCoverOthers: a number covers one that may have fewer digits, if no bound differs.
func TestNumbersThatCoverOthers(t *testing.T) {
	for _, c := range []struct {
		schema, a, b string
		want         bool
	}{
		{`{"type":"integer"}`, "12", "345", true},
		{`{"type":"integer"}`, "345", "12", false},
		{`{"type":"integer"}`, "12", "0", false},
		{`{"type":"number"}`, "1.5", "22.5", true},
		{`{"type":"integer","minimum":500}`, "1", "12", false},
		{`{"type":"integer","minimum":500}`, "1234", "12345", true},
		{`{"type":"integer","multipleOf":3}`, "12", "123", false},
		{`{"type":"integer","maximum":2000}`, "12", "300", true},
	} {
		f := compile(t, c.schema, Options{})
		var states [2]any
		for i, text := range []string{c.a, c.b} {
			states[i] = f.Start()
			for k := range len(text) {
				states[i], _ = f.Step(states[i], text[k])
			}
		}
		if got := f.Covers(states[0], states[1]); got != c.want {
			t.Errorf("%s: %s covers %s: %v, want %v", c.schema, c.a, c.b, got, c.want)
		}
	}
}
