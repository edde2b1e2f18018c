package constrain_test

// What a form forces, against its masks.

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"picogpt/constrain"
	"picogpt/dev/cases"
)

// TestForcedBytesAreTheOnlyOnes draws texts, and compares what is forced at each byte with the
// masks: each forced byte is the only one that may follow, and the text may not end before it. The
// prefixes of it are the ids that the mask has of them.
func TestForcedBytesAreTheOnlyOnes(t *testing.T) {
	tokens := make([][]byte, 257)
	for b := range 256 {
		tokens[b] = []byte{byte(b)}
	}
	for _, word := range []string{"name", `"name`, "na", "é", "é", " is", "small", `":`, "],"} {
		tokens = append(tokens, []byte(word))
	}
	v, err := constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{256}})
	if err != nil {
		t.Fatal(err)
	}
	forms := map[string]func() (*constrain.Constraint, error){
		"regex": func() (*constrain.Constraint, error) {
			return constrain.Regex(v, `(name|nest)é{2}: [ab]{1,3}( is small)?`)
		},
		"choice": func() (*constrain.Constraint, error) { return constrain.Choice(v, "small name", "small names", "é") },
		"grammar": func() (*constrain.Constraint, error) {
			return constrain.Grammar(v, "root ::= \"[\" (\"small\" [0-9]+ \",\")+ \"]\"")
		},
		"tags": func() (*constrain.Constraint, error) {
			return constrain.StructuralTag(v, []byte(`{"format":{"type":"triggered_tags","triggers":["na"],"tags":[
				{"begin":"name is","content":{"type":"json_schema","json_schema":{"enum":["small",["é",1]]}},"end":" is small"}
				],"at_least_one":true}}`))
		},
		"schema": func() (*constrain.Constraint, error) {
			return constrain.JSONSchema(v, []byte(`{"type":"object","required":["name","né"],"additionalProperties":false,
				"properties":{"name":{"enum":["small","smaller",1.25]},"né":{"type":"array","maxItems":2,"items":{"const":true}}}}`),
				constrain.SchemaOptions{})
		},
	}
	for name, compile := range forms {
		form, err := compile()
		if err != nil {
			t.Fatal(err)
		}
		forced, seeds := 0, cases.Sized(30, 1000)
		for seed := range uint64(seeds) {
			random := rand.New(rand.NewPCG(seed, 5))
			text, err := form.Start()
			if err != nil {
				t.Fatal(err)
			}
			open := make([]uint64, v.Words())
			for range 40 {
				ahead := text.Fork().(*constrain.Text)
				must := text.Forced(64)
				ids := 0
				for id, n := range text.Prefixes(must) {
					if !bytes.Equal(must[:n], tokens[id]) || ahead.Accept(id) != nil {
						t.Fatalf("%s: id %d (%q) of %q does not fit", name, id, tokens[id], must)
					}
					if err := ahead.Rewind(1); err != nil {
						t.Fatal(err)
					}
					ids++
				}
				want := 0
				for id := 0; len(must) > 0 && id < len(tokens); id++ {
					if len(tokens[id]) > 0 && bytes.HasPrefix(must, tokens[id]) {
						want++
					}
				}
				if ids != want {
					t.Fatalf("%s: %d ids begin %q, want %d", name, ids, must, want)
				}
				for _, b := range must {
					if err := ahead.Mask(open); err != nil {
						t.Fatal(err)
					}
					for id := range 257 {
						if is := open[id/64]>>(id%64)&1 != 0; is != (id == int(b)) {
							t.Fatalf("%s: %q is forced, and id %d is open: %v", name, must, id, is)
						}
					}
					if err := ahead.Accept(int(b)); err != nil {
						t.Fatal(err)
					}
					forced++
				}
				if err := text.Mask(open); err != nil {
					t.Fatal(err)
				}
				var may []int
				for id := range tokens {
					if open[id/64]>>(id%64)&1 != 0 && id != 256 {
						may = append(may, id)
					}
				}
				if len(may) == 0 {
					break
				}
				if err := text.Accept(may[random.IntN(len(may))]); err != nil {
					t.Fatal(err)
				}
			}
		}
		if forced < 3*seeds {
			t.Errorf("%s: %d bytes are forced in %d texts, want more", name, forced, seeds)
		}
	}
}
