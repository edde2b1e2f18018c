package schema

// Unique items: masks are those of steps, and no text is led where it cannot end.

import (
	"math/rand/v2"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// TestMasksOfUniqueItemsAreThoseOfSteps: an id is open exactly if it is accepted, though strings and
// numbers of unique items take masks that know of no other items.
func TestMasksOfUniqueItemsAreThoseOfSteps(t *testing.T) {
	cases.NotShort(t)
	for _, schema := range []string{
		`{"type":"array","uniqueItems":true,"items":{"type":"integer"}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":["string","integer","null"]}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"object","properties":{"k":{"enum":["x","y"]},"n":{"type":"integer"}},"required":["k"],"additionalProperties":false}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"array","items":{"type":"integer"},"maxItems":1}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"string","pattern":"^[ab]{0,2}$"}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"number","minimum":0,"maximum":1}}`,
		`{"type":"array","uniqueItems":true,"items":{"type":"string","minLength":1,"maxLength":3}}`,
		`{"uniqueItems":true,"contains":{"type":"integer"},"minContains":2}`,
	} {
		form := compile(t, schema, Options{})
		for seed := range cases.Of(2, 40) {
			w, text := walks.New(rand.New(rand.NewPCG(uint64(seed), 21))), walks.Of(form)
			feed := []string{`[0,`, `["a",0,`, `[{"k":"x","n":0},`, `[[0],`, `["a",`, `[0,0.1,`, `["a","ab",`, `[0,`}
			for _, prefix := range feed {
				if seed%2 == 0 && walks.Feed(text, prefix) {
					break
				}
				text = walks.Of(form)
			}
			for range 12 {
				if err := text.Mask(w.Mask); err != nil {
					t.Fatal(err)
				}
				for id := range len(walks.Tokens()) {
					next, err := form.Accept(text.State, id)
					open := w.Mask[id>>6]>>(id&63)&1 != 0
					if err != nil || open != (next != nil) {
						t.Fatalf("%s: %q is open %v, accepted %v, %v", schema, walks.Tokens()[id], open, next != nil, err)
					}
				}
				id := w.Choose(false)
				if id < 0 {
					break
				}
				if err := text.Accept(id); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestACommaOfUniqueObjectsLeadsToAName: an object that only its end tells from an earlier item
// takes no comma, for after it a name must follow.
func TestACommaOfUniqueObjectsLeadsToAName(t *testing.T) {
	form := compile(t, `{"type":"array","uniqueItems":true,"items":{"type":"object",
		"propertyNames":{"enum":["a","b"]},"additionalProperties":{"type":"boolean"}}}`, Options{})
	for next, want := range map[string]bool{",": false, "}": true} {
		text := walks.Of(form)
		if !walks.Feed(text, `[{"a":true,"b":true},{"b":true`) {
			t.Fatal("the beginning is not of the form")
		}
		if walks.Feed(text, next) != want {
			t.Errorf("%q is open: %v, want %v", next, !want, want)
		}
	}
}
