package chat

// The reader of calls: what it finds does not depend on where tokens end.

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCallsAreFoundWhereverTokensEnd(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	contents := []string{"", "Let me see.\n", "<tool_cal <<tool_call", `{"name" [TOOL_CALL[`, "é{"}
	arguments := []string{`{}`, `{"a":"}]\"{","b":[{"c":{}},"\\"]}`, `{"city":"Zürich"}`,
		`{"x":"}\n</tool_call>\n<tool_call>\n{\"name\": \""}`}
	for i := range CallFormats {
		f := &CallFormats[i]
		if !strings.HasPrefix(f.Open, f.Trigger) {
			t.Errorf("%s: %q does not begin with %q", f.Name, f.Open, f.Trigger)
		}
		for range 2000 {
			content, n := contents[random.IntN(len(contents))], random.IntN(4)
			text, want := content, []string{}
			for k := range n {
				name, a := fmt.Sprintf("f%d", random.IntN(20)), arguments[random.IntN(len(arguments))]
				text += []string{f.Between, f.Open}[map[bool]int{true: 1}[k == 0]] + name + f.Middle + a
				want = append(want, name+a)
			}
			if n > 0 {
				text += f.Closing
			}
			r := NewCallReader(f, "x", true)
			var said string
			var got, ids []string
			for rest := text; rest != ""; {
				step := 1 + random.IntN(min(len(rest), 1+random.IntN(20)))
				content, calls := r.Read(rest[:step], nil)
				said, rest = said+content, rest[step:]
				for _, c := range calls {
					if c.ID != "" {
						got, ids = append(got, c.Name), append(ids, c.ID)
					}
					if c.Index != len(got)-1 {
						t.Fatalf("%s: %q: call %d of %d", f.Name, text, c.Index, len(got))
					}
					got[c.Index] += string(c.Arguments)
				}
			}
			if said += r.End(); said != content || strings.Join(got, "\x00") != strings.Join(want, "\x00") {
				t.Fatalf("%s: %q: %q and %q, want %q and %q", f.Name, text, said, got, content, want)
			}
			for k, id := range ids {
				if len(id) != 9 || k > 0 && id == ids[k-1] {
					t.Fatalf("ids %q", ids)
				}
			}
		}
	}
}
