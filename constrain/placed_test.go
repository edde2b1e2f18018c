package constrain

// Places: forms of which many parts may come at one place of a text.

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/walks"
)

// crowded are structural tags of which many parts may come at one place; those that cannot be
// followed are refused when they are compiled, and say why.
var crowded = []struct{ name, format, text, refused string }{
	{"pairs of free text and JSON", `{"type":"sequence","elements":[` + list(30, ",", func(int) string {
		return `{"type":"any_text"},{"type":"json_schema","json_schema":{}}`
	}) + `]}`, `a1b[{"a":2,"x":"yz"}] 5 and 6 and [7], "8" [[9]]`, ""},
	{"ends", `{"type":"tag","begin":"<","content":{"type":"any_text"},"end":[` + list(2000, ",",
		numbered(`"</e%d>"`)) + `]}`, "<a</e1>", ""},
	{"ends of JSON", `{"type":"tag","begin":"<","content":{"type":"json_schema","json_schema":{}},"end":[` +
		list(2000, ",", numbered(`"%d</e>"`)) + `]}`, `<[1]15</e>`, ""},
	{"ends of any first letter", `{"type":"tag","begin":"<","content":{"type":"any_text"},"end":[` + list(2000, ",",
		func(i int) string { return fmt.Sprintf(`"%c%d"`, 'a'+i%1000, i) }) + `]}`, "", "steps to compile"},
	{"tags that begin alike", `{"type":"triggered_tags","triggers":["<"],"tags":[` + list(63, ",",
		numbered(`{"begin":"<a>","content":{"type":"json_schema","json_schema":{"required":["p%d"]}},"end":"<%d>"}`)) +
		`]}`, `b<a>{"p3":[1]}<3>b`, ""},
	{"more tags that begin alike", `{"type":"triggered_tags","triggers":["<"],"tags":[` + list(65, ",",
		numbered(`{"begin":"<a>","content":{"type":"json_schema","json_schema":{"required":["p%d"]}},"end":"<%d>"}`)) +
		`]}`, ``, "more than 63 schemas may begin"},
	{"tags of one schema that begin alike", `{"type":"triggered_tags","triggers":["<"],"tags":[` + list(300, ",",
		numbered(`{"begin":"<a>","content":{"type":"json_schema","json_schema":{"type":"object"}},"end":"<%d>"}`)) +
		`]}`, `b<a>{"p3":[1]}<3>b`, ""},
	{"one of many schemas after a letter", `{"type":"sequence","elements":[{"type":"const_string","value":"x"},
		{"type":"or","elements":[` + list(65, ",", numbered(`{"type":"json_schema","json_schema":{"const":%d}}`)) +
		`]}]}`, ``, "more than 63 schemas may begin"},
	{"optional schemas", `{"type":"sequence","elements":[{"type":"const_string","value":"x"},` + list(80, ",", numbered(
		`{"type":"optional","content":{"type":"json_schema","json_schema":{"const":"%d"}}}`)) + `]}`, ``,
		"more than 63 schemas may begin"},
	{"optional JSON", `{"type":"sequence","elements":[{"type":"const_string","value":"x"},` + list(80, ",", func(int) string {
		return `{"type":"optional","content":{"type":"json_schema","json_schema":{}}}`
	}) + `]}`, `x1"a"[1][12]`, ""},
	{"optional free text", `{"type":"sequence","elements":[` + list(80, ",", numbered(
		`{"type":"optional","content":{"type":"any_text","excludes":["a%d"]}}`)) + `]}`, `a1a2a3a4a5a6a7`, ""},
	{"tags in tags", strings.Repeat(`{"type":"triggered_tags","triggers":["<"],"tags":[{"begin":"<","end":">","content":`, 30) +
		`{"type":"any_text"}` + strings.Repeat(`}]}`, 30), `a<b<c<d>e>f<g`, ""},
	{"tags in optional tags", strings.Repeat(`{"type":"optional","content":{"type":"tag","begin":"","end":"","content":`, 30) +
		`{"type":"any_text"}` + strings.Repeat(`}}`, 30), `a<b<c<d>e>f<g`, ""},
	{"triggers of one byte", `{"type":"triggered_tags","triggers":[` + list(60, ",", func(i int) string {
		return fmt.Sprintf(`"%c"`, 'A'+i%26+32*(i/26)%1000)
	}) + `],"tags":[` + list(60, ",", func(i int) string {
		return fmt.Sprintf(`{"begin":"%c","content":{"type":"json_schema","json_schema":{"const":"%d"}},"end":""}`,
			'A'+i%26+32*(i/26)%1000, i)
	}) + `]}`, `1A"0"`, ""},
}

// TestCrowdedFormsAreFollowedOrRefused: no text of a form that was compiled ends with an error of a
// bound, whatever is drawn, near its end too.
func TestCrowdedFormsAreFollowedOrRefused(t *testing.T) {
	cases.NotShort(t)
	v := gpt2()
	for _, x := range crowded {
		c, err := StructuralTag(v, []byte(`{"format":`+x.format+`}`))
		if x.refused != "" || err != nil {
			if err == nil || x.refused == "" || !strings.Contains(err.Error(), x.refused) {
				t.Errorf("%s: %v, want %q", x.name, err, x.refused)
			}
			continue
		}
		open := make([]uint64, v.Words())
		for _, within := range []int{0, 1, 5} {
			text := started(t, c)
			least, _ := text.Least()
			r := rand.New(rand.NewPCG(uint64(within), 4))
			if within > 0 {
				text.Within(least + within + 20)
			}
			written := ""
			for n := 0; n < least+within+20 && !ended(text); n++ {
				if err := text.Mask(open); err != nil {
					t.Errorf("%s: %q: %v", x.name, written, err)
					break
				}
				ids := walks.Opened(open)
				id := ids[r.IntN(len(ids))]
				if len(written) < len(x.text) && within != 1 {
					if id = v.ids.Alone(x.text[len(written)]); open[id>>6]>>(id&63)&1 == 0 {
						if within == 0 {
							t.Errorf("%s: %q is not open after %q", x.name, x.text[len(written)], written)
							break
						}
						id = ids[r.IntN(len(ids))]
					}
				}
				if err := text.Accept(id); err != nil {
					t.Errorf("%s: %q: %v", x.name, written+string(v.Bytes(id)), err)
					break
				}
				if len(v.Bytes(id)) == 0 {
					break
				}
				written += string(v.Bytes(id))
			}
			if within > 0 && !text.Complete() {
				t.Errorf("%s: %q is not complete", x.name, written)
			}
		}
	}
}

// TestMasksNearTheEndAreThoseOfANewForm: of a form that texts without a bound have used, too.
func TestMasksNearTheEndAreThoseOfANewForm(t *testing.T) {
	v, format := gpt2(), `{"type":"sequence","elements":[{"type":"regex","pattern":"[a-z ]*"},{"type":"json_schema","json_schema":
		{"type":["object","string"],"required":["a"]}},{"type":"const_string","value":"."}]}`
	used, fresh := compiled(t, v, "tags", format), compiled(t, v, "tags", format)
	a, b := make([]uint64, v.Words()), make([]uint64, v.Words())
	if err := started(t, used).Mask(a); err != nil {
		t.Fatal(err)
	}
	for most := 1; most < 9; most++ {
		first, again := started(t, fresh), started(t, used)
		first.Within(most)
		again.Within(most)
		if err := errors.Join(first.Mask(a), again.Mask(b)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(a, b) {
			t.Errorf("within %d ids %d are open, and of a form that was used %d", most, len(walks.Opened(a)),
				len(walks.Opened(b)))
		}
	}
}
