package constrain

// Hostile forms of many families, made at random: each is compiled within its bound of work, or
// refused with one line that names a bound. Meanwhile the caller's context is checked often.

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/constrain/internal/meter"
	"picogpt/dev/cases"
)

// A forger makes hostile forms.
type forger struct{ *rand.Rand }

// size is a number up to most, small ones as often as large ones.
func (f forger) size(most int) int {
	n := 1
	for n < most && f.IntN(4) > 0 {
		n *= 2
	}
	return 1 + f.IntN(min(n, most))
}

func (f forger) one(of ...string) string { return of[f.IntN(len(of))] }

// regex makes a pattern with repeats, classes and alternatives in one another.
func (f forger) regex(depth int) string {
	if depth == 0 {
		return f.one("a", "b", ".", `\w`, `\pL`, `[^x]`, `[a-z]`, `\d`, "é", `\b`, "^", "$",
			`[\x{100}-\x{2000}]`)
	}
	inner := f.regex(depth - 1)
	switch f.IntN(6) {
	case 0:
		return fmt.Sprintf("(%s){0,%d}", inner, f.size(99))
	case 1:
		return fmt.Sprintf("(%s){%d}", inner, f.size(30))
	case 2:
		return "(" + inner + f.one(")*", ")+", ")?")
	case 3:
		return list(f.size(40), "|", func(i int) string { return inner + fmt.Sprint(i) })
	case 4:
		return list(f.size(20), "", func(int) string { return inner })
	}
	return inner + f.regex(depth-1)
}

// schema makes a schema of which one thing is large.
func (f forger) schema(depth int) string {
	part := func(i int) string {
		if depth > 0 && f.IntN(3) == 0 {
			return f.schema(depth - 1)
		}
		return fmt.Sprintf(f.one(`{"minimum":%d}`, `{"maxLength":%d}`, `{"type":"string","minLength":%d}`,
			`{"const":%d}`, `{"required":["p%d"]}`, `{"multipleOf":%d.5,"type":"integer"}`,
			`{"properties":{"p%d":{"type":"null"}}}`, `{"exclusiveMaximum":1e%d}`), i)
	}
	n := f.size(2000)
	switch f.IntN(9) {
	case 0:
		return `{"` + f.one("allOf", "anyOf", "oneOf", "prefixItems") + `":[` +
			list(f.size(200), ",", part) + `]}`
	case 1:
		return `{"allOf":[` + list(f.size(14), ",", func(i int) string {
			return `{"anyOf":[` + list(1+f.size(3), ",", part) + `]}`
		}) + `,` + list(n, ",", numbered(`{"minimum":%d}`)) + `]}`
	case 2:
		return `{"` + f.one("properties", "patternProperties", "$defs") + `":{` + list(f.size(60), ",",
			func(i int) string { return fmt.Sprintf(`"p%d.*":`, i) + part(i) }) + `}}`
	case 3:
		return fmt.Sprintf(`{"type":"string","pattern":%q,"maxLength":%d,"minLength":%d}`,
			"^"+f.plain()+"$", f.size(9000), f.IntN(9))
	case 4:
		kind := f.one(`"v%d"`, `%d`, `%de4000`, `[%d]`, `{"a":%d}`)
		return `{"enum":[` + list(n, ",", numbered(kind)) + `]}`
	case 5:
		return `{"$ref":"#/$defs/p0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"p%d":{"%s":[{"$ref":"#/$defs/p%d"},%s]}`, i,
				f.one("allOf", "anyOf"), i+1, part(i))
		}) + fmt.Sprintf(`,"p%d":true}}`, n)
	case 6:
		return strings.Repeat(`{"items":`, n) + "{}" + strings.Repeat("}", n)
	case 7:
		return `{"type":"object","required":[` + list(n, ",", numbered(`"p%d"`)) +
			`],"maxProperties":` + fmt.Sprint(n) + `}`
	}
	return `{"allOf":[` + list(f.size(300), ",", func(i int) string {
		return fmt.Sprintf(`{"patternProperties":{"^%c%d":%s}}`, 'a'+i%26, i, part(i))
	}) + `]}`
}

// plain is a pattern without what JSON would have to escape.
func (f forger) plain() string {
	return strings.NewReplacer(`\`, "", "{100}-\\x{2000}", "é").Replace(
		regexp.MustCompile(`\\x\{[0-9a-f]+\}`).ReplaceAllString(f.regex(3), "é"))
}

// grammar makes rules that lead to one another, and repeats in repeats.
func (f forger) grammar() string {
	n := f.size(2000)
	return "root ::= r0\n" + list(n, "\n", func(i int) string {
		next := fmt.Sprintf("r%d", min(i+1+f.IntN(3), n))
		return fmt.Sprintf("r%d ::= ", i) + f.one(next, next+" "+next, next+"?", `"a" `+next+` | "b"`,
			"("+next+" | [^x])*",
			fmt.Sprintf(`("a"{0,%d}){0,%d} `, f.size(2000), f.size(50))+next,
			`"a"? r0 | "c"`, `"" `+next)
	}) + fmt.Sprintf("\nr%d ::= [a-z]?", n)
}

// form makes a form of any family.
func (f forger) form() (hostile, string) {
	switch f.IntN(8) {
	case 0, 1:
		return hostile{kind: 'r'}, f.regex(1 + f.IntN(4))
	case 2, 3:
		return hostile{kind: 'g'}, f.grammar()
	case 4:
		return hostile{kind: 'c'}, list(f.size(4000), "\n", func(i int) string {
			return strings.Repeat(f.one("x", "é", "ab"), f.size(50)) + fmt.Sprint(i)
		})
	}
	return hostile{kind: 's'}, f.schema(2)
}

// mostBetween is the greatest number of steps of work between two checks of the caller's context:
// parsing a pattern and counting a table have no checks inside.
const mostBetween = 8 << 20

func TestHostileFormsAreCompiledWithinTheirBounds(t *testing.T) {
	seeds := cases.Of(150, 10000)
	compiled, refused := 0, 0
	for seed := range seeds {
		f := forger{rand.New(rand.NewPCG(uint64(seed), 12))}
		h, text := f.form()
		name := fmt.Sprintf("seed %d: %c %.80q (%d bytes)", seed, h.kind, text, len(text))
		var m *meter.Meter
		before, widest := 0, 0
		m = meter.New(context.Background(), func(context.Context) error {
			widest, before = max(widest, m.Used-before), m.Used
			return nil
		}, nil, len(text))
		_, err := compileWith(h, text, m)
		if widest = max(widest, min(m.Used, m.Most)-before); widest > mostBetween {
			t.Errorf("%s: %d steps without a pause", name, widest)
		}
		if err == nil {
			if compiled++; m.Used > m.Most {
				t.Errorf("%s: compiled in %d steps, want %d at most", name, m.Used, m.Most)
			}
			continue
		}
		refused++
		if strings.Contains(err.Error(), "\n") || len(err.Error()) > 400 {
			t.Errorf("%s: %d bytes of error: %v", name, len(err.Error()), err)
		}
	}
	if compiled < seeds/5 || refused < seeds/20 {
		t.Errorf("%d forms were compiled and %d refused: want some of both", compiled, refused)
	}
}
