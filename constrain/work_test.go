package constrain

// Work: the cost of compiling forms is counted, depends only on their length, and is bounded. These
// tests read no clock.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"picogpt/constrain/internal/automaton"
	"picogpt/constrain/internal/grammar"
	"picogpt/constrain/internal/schema"
	"picogpt/dev/cases"
)

// A hostile is a family of forms, each n large.
type hostile struct {
	name string
	kind byte // s: a schema, g: a grammar, r: a regex, c: choices, one a line
	text func(n int) string
}

// list joins n texts.
func list(n int, between string, text func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = text(i)
	}
	return strings.Join(all, between)
}

func numbered(format string) func(i int) string {
	return func(i int) string { return fmt.Sprintf(strings.ReplaceAll(format, "%", "%[1]"), i) }
}

// work compiles a form and returns the meter that counted.
func work(h hostile, text string, pause func(context.Context) error) (*automaton.Meter, *Constraint, error) {
	m := Compiler{Pause: pause}.meter(context.Background(), len(text))
	c, err := compileWith(h, text, m)
	return m, c, err
}

func compileWith(h hostile, text string, m *automaton.Meter) (*Constraint, error) {
	v := gpt2()
	b, what := &builder{c: Compiler{Vocabulary: v}, m: m}, "grammar"
	var n *automaton.Network
	switch h.kind {
	case 's':
		f, notes, err := schema.Compile(v.strings, []byte(text), schema.Options{Closed: true}, m)
		return &Constraint{v, f, notes}, err
	case 'g':
		n = b.rules(text)
	case 'r':
		what, n = b.regex(text)
	default:
		var err error
		n, err = grammar.Choice(strings.Split(text, "\n"), m)
		b.fail(err)
	}
	return b.constraint(what, n)
}

// linear are families whose work once grew with the square of their length, or worse.
var linear = []hostile{
	{"allOf of strings", 's', func(n int) string {
		return `{"allOf":[` + list(n, ",", func(int) string { return `{"type":"string"}` }) + `]}`
	}},
	{"allOf of anyOf and minima", 's', func(n int) string {
		return `{"allOf":[{"anyOf":[{"maxLength":1},{"minLength":3}]},` +
			list(n, ",", numbered(`{"minimum":%d}`)) + `]}`
	}},
	{"properties", 's', func(n int) string {
		return `{"properties":{` + list(n, ",", numbered(`"p%d":{"minimum":%d}`)) + `}}`
	}},
	{"required", 's', func(n int) string {
		return `{"type":"object","required":[` + list(n, ",", numbered(`"p%d"`)) + `]}`
	}},
	{"references to many", 's', func(n int) string {
		return `{"$defs":{` + list(n, ",", numbered(`"p%d":{"minimum":%d}`)) + `},"prefixItems":[` +
			list(n, ",", numbered(`{"$ref":"#/$defs/p%d"}`)) + `]}`
	}},
	{"anchors", 's', func(n int) string {
		return `{"$defs":{` + list(n, ",", numbered(`"p%d":{"$anchor":"a%d","minimum":%d}`)) +
			`},"prefixItems":[` + list(n, ",", numbered(`{"$ref":"#a%d"}`)) + `]}`
	}},
	{"a chain of references", 's', func(n int) string {
		return `{"$ref":"#/$defs/p0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/p%d"}`, i, i+1)
		}) + fmt.Sprintf(`,"p%d":{"type":"null"}}}`, n)
	}},
	{"a chain of objects", 's', func(n int) string { // each exists only if the next does
		return `{"$ref":"#/$defs/p0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"p%d":{"type":"object","required":["a"],`+
				`"properties":{"a":{"$ref":"#/$defs/p%d"}}}`, i, i+1)
		}) + fmt.Sprintf(`,"p%d":{"type":"null"}}}`, n)
	}},
	{"items below a long name", 's', func(n int) string {
		return `{"` + strings.Repeat("k", 8*n) + `":[` + strings.Repeat("1,", n) + `1]}`
	}},
	{"enum of strings", 's', func(n int) string {
		return `{"enum":[` + list(n, ",", numbered(`"v%d"`)) + `]}`
	}},
	{"enum of objects", 's', func(n int) string {
		return `{"enum":[` + list(min(n, 2000), ",", numbered(`{"v":%d}`)) + `]}`
	}},
	{"bounds of a million digits", 's', func(n int) string {
		return `{"type":"integer","allOf":[` +
			list(n, ",", func(i int) string {
				return fmt.Sprintf(`{"exclusiveMinimum":-1e%d,"maximum":1e-%d}`, 900000+i, 900000+i)
			}) + `]}`
	}},
	{"a chain of states before a loop", 's', func(n int) string {
		return `{"type":"string","pattern":"^[a-z]{` + fmt.Sprint(min(n, 900)) + `}[0-9]*$"}`
	}},
	{"a chain of rules", 'g', func(n int) string {
		return "root ::= r0\n" + list(n, "\n", func(i int) string {
			return fmt.Sprintf("r%d ::= r%d", i, i+1)
		}) + fmt.Sprintf("\nr%d ::= \"a\"?", n)
	}},
	{"rules that may be empty", 'g', func(n int) string {
		return "root ::= " + list(n, " ", numbered("r%d")) + "\n" +
			list(n, "\n", numbered(`r%d ::= "a"?`))
	}},
	{"an alternation", 'r', func(n int) string { return list(n, "|", numbered("w%d")) }},
	{"a class again and again", 'r', func(n int) string {
		return fmt.Sprintf(`(\pL{%d}){3}`, min(n, 300))
	}},
	{"choices", 'c', func(n int) string { return list(n, "\n", numbered("%d choices")) }},
}

// TestWorkGrowsWithTheLength: twice the form is at most a little more than twice the work.
func TestWorkGrowsWithTheLength(t *testing.T) {
	cases.NotShort(t)
	const n = 800
	for _, h := range linear {
		short, long := h.text(n), h.text(2*n)
		once, _, err := work(h, short, nil)
		if err != nil {
			t.Errorf("%s: %v", h.name, err)
			continue
		}
		twice, _, err := work(h, long, nil)
		if err != nil {
			t.Errorf("%s, longer: %v", h.name, err)
			continue
		}
		if twice.Used > 5*once.Used/2 {
			t.Errorf("%s: %d bytes take %d steps, %d take %d", h.name, len(short), once.Used, len(long),
				twice.Used)
		}
	}
}

// beyond are families that cost more than their length allows, and what the refusal names.
var beyond = []struct {
	hostile
	n    int
	want string
}{
	{hostile{"combinations times minima", 's', func(n int) string {
		return `{"allOf":[` + list(11, ",", func(i int) string {
			return fmt.Sprintf(`{"anyOf":[{"maxLength":%d},{"minLength":3}]}`, i+1)
		}) + "," + list(n, ",", numbered(`{"minimum":%d}`)) + `]}`
	}}, 15000, "steps to compile, which is the bound for"},
	{hostile{"combinations", 's', func(n int) string {
		return `{"allOf":[` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`{"anyOf":[{"maxLength":%d},{"minLength":3}]}`, i+1)
		}) + `]}`
	}}, 20, "more than 2048 combinations"},
	{hostile{"numbers of many digits", 's', func(n int) string {
		return `{"enum":[` + list(n, ",", numbered("%de4090")) + `]}`
	}}, 30000, "steps to compile"},
	{hostile{"divisions of many digits", 's', func(n int) string {
		return `{"multipleOf":1e-399,"enum":[` + list(n, ",", numbered("%de4090")) + `]}`
	}}, 20000, "steps to compile"},
	{hostile{"patterns of many lengths", 's', func(n int) string {
		return `{"anyOf":[` + list(n, ",", numbered(`{"pattern":"^a{%d}b*$","maxLength":900}`)) + `]}`
	}}, 1000, "steps to compile"},
	{hostile{"a chain behind $ref", 's', func(n int) string {
		return `{"$ref":"#/$defs/p0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"p%d":{"$ref":"#/$defs/p%d"}`, i, i+1)
		}) + `}}`
	}}, 25000, "more than 20000 schemas lead to one another"},
	{hostile{"kinds of values", 's', func(n int) string {
		return `{"prefixItems":[` + list(n, ",", numbered(`{"minimum":%d}`)) + `]}`
	}}, 20001, "more than 20000 kinds of values"},
	{hostile{"ranges in which case does not count", 'r', func(n int) string {
		return `(?i)` + strings.Repeat(`[b-\x{1e942}]x`, n)
	}}, 1000, "steps to compile"},
	{hostile{"Unicode's classes", 'r', func(n int) string {
		return strings.Repeat(`\pL`, n)
	}}, 20000, "steps to compile"},
	{hostile{"repetitions of nothing", 'g', func(n int) string {
		return `root ::= (` + strings.Repeat(`"" `, n) + `){2000}`
	}}, 10000, "steps to compile"},
	{hostile{"repetitions", 'g', func(n int) string {
		return "root ::= " + strings.Repeat("(", n) + `"a"` + strings.Repeat("){2000}", n)
	}}, 5, "more than 131072 states"},
	{hostile{"prefixItems under not", 's', func(n int) string {
		return `{"not":{"prefixItems":[` + list(n, ",", func(int) string { return `{"const":1}` }) + `]}}`
	}}, 2500, "more than 2048 combinations"},
	{hostile{"numbers under not", 's', func(n int) string {
		return `{"not":{"enum":[` + list(n, ",", numbered("%d")) + `]}}`
	}}, 20000, "more than 2048 combinations"},
	{hostile{"oneOf under not", 's', func(n int) string {
		return `{"not":{"oneOf":[` + list(n, ",", numbered(`{"const":%d}`)) + `]}}`
	}}, 5000, "steps to compile"},
	{hostile{"ways through dynamic anchors", 's', func(n int) string {
		return `{"$id":"http://a/","$ref":"r0","$defs":{` + list(n, ",", func(i int) string {
			return fmt.Sprintf(`"d%d":{"$id":"r%[1]d","$defs":{"x":{"$dynamicAnchor":"n%[1]d"}},`+
				`"properties":{%s}}`, i, list(n, ",", numbered(`"p%d":{"$ref":"r%d"}`)))
		}) + `}}`
	}}, 16, "steps to compile"},
	{hostile{"kinds of characters", 'g', func(n int) string {
		return "root ::= " + list(n, " | ", func(i int) string { return fmt.Sprintf(`"\u%04x"`, 0x1000+i) })
	}}, 5000, "more than 4096 kinds of characters"},
}

// TestWorkIsBounded: a form that costs too much is refused after as many steps as it may take, in
// one line that names the bound; and a schema of 100 KB takes less than a GiB until then.
func TestWorkIsBounded(t *testing.T) {
	cases.NotShort(t)
	for _, x := range beyond {
		text := x.text(x.n)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		m, _, err := work(x.hostile, text, nil)
		runtime.ReadMemStats(&after)
		if b := after.TotalAlloc - before.TotalAlloc; b > 1<<30 && len(text) < 200000 {
			t.Errorf("%s: compiling %d bytes took %d bytes", x.name, len(text), b)
		}
		if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") ||
			len(err.Error()) > 300 {
			t.Errorf("%s: %v, want %q", x.name, err, x.want)
		}
		var bound *WorkError
		if errors.As(err, &bound) && (bound.Bytes != len(text) || bound.Steps != m.Most) {
			t.Errorf("%s: %+v, want %d steps of %d bytes", x.name, bound, m.Most, len(text))
		}
		if !errors.As(err, &bound) && m.Used > m.Most {
			t.Errorf("%s: %d steps, want %d at most", x.name, m.Used, m.Most)
		}
	}
}

// TestTheWorkStopsWhereNobodyWaits: the caller is asked often, and its error ends compiling.
func TestTheWorkStopsWhereNobodyWaits(t *testing.T) {
	cases.NotShort(t)
	gone := errors.New("gone")
	for _, h := range linear {
		text := h.text(1000)
		calls := 0
		if _, _, err := work(h, text, func(context.Context) error { calls++; return nil }); err != nil {
			t.Errorf("%s: %v", h.name, err)
		}
		for _, at := range []int{1, calls/2 + 1, calls} {
			left := at
			m, _, err := work(h, text, func(context.Context) error {
				if left--; left == 0 {
					return gone
				}
				return nil
			})
			if calls > 0 && !errors.Is(err, gone) {
				t.Errorf("%s, asked %d times, gone after %d: %v", h.name, calls, at, err)
			}
			if left < 0 {
				t.Errorf("%s: asked %d times after its end (%d steps)", h.name, -left, m.Used)
			}
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := (Compiler{Vocabulary: gpt2()}).JSONSchema(ctx, []byte(linear[0].text(1000)),
		SchemaOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("a context that has ended: %v", err)
	}
}

// TestTheFirstPlacesAreWorkToo: the positions at which a text may begin are found while the form is
// compiled, so that this work is counted and pauses.
func TestTheFirstPlacesAreWorkToo(t *testing.T) {
	cases.NotShort(t)
	double := func(n int) string {
		return "root ::= r0\n" + list(n, "\n", func(i int) string {
			return fmt.Sprintf("r%d ::= r%d r%d", i, i+1, i+1)
		}) + fmt.Sprintf("\nr%d ::= \"a\"?", n)
	}
	h := hostile{kind: 'g'}
	small, _, err := work(h, double(60), nil)
	if err != nil {
		t.Fatal(err)
	}
	calls := 0
	large, _, err := work(h, double(120), func(context.Context) error { calls++; return nil })
	if err != nil || large.Used < 3*small.Used || calls < large.Used/automaton.PauseWork/2 {
		t.Errorf("%d steps, then %d and %d pauses, %v: want more than three times as many steps, each counted",
			small.Used, large.Used, calls, err)
	}
	if _, _, err := work(h, double(1000), nil); err == nil {
		t.Error("a grammar that can begin in too many places is compiled")
	}
}

// TestManyStacksAreDear: forms whose rules lead to very many stacks are refused before they have
// made many of them, whatever leads there: the memory says how many they made.
func TestManyStacksAreDear(t *testing.T) {
	cases.NotShort(t)
	gpt2()
	for name, rule := range map[string]string{"two": `r%d r%d`, "two or one": `r%d r%d | r%d`, "optional": `r%d? r%d?`,
		"repeated": `(r%d* r%d)*`, "nothing": `r%d ("" | ` + strings.Repeat(`"" | `, 500) + `"") r%d`} {
		for last, char := range map[string]string{"maybe": `"a"?`, "one": `"a"`} {
			text := "root ::= r0\n" + list(40, "\n", func(i int) string {
				return fmt.Sprintf("r%d ::= ", i) + strings.ReplaceAll(rule, "%d", fmt.Sprint(i+1))
			}) + "\nr40 ::= " + char
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			c, err := Grammar(gpt2(), text)
			if err == nil {
				err = start(t, c).Mask(make([]uint64, gpt2().Words()))
			}
			runtime.ReadMemStats(&after)
			if grown := after.TotalAlloc - before.TotalAlloc; grown > 128<<20 {
				t.Errorf("%s, %s: %d bytes, then %v", name, last, grown, err)
			}
			if err != nil && !strings.Contains(err.Error(), "one token needs more than") {
				t.Errorf("%s, %s: %v", name, last, err)
			}
		}
	}
}

// TestAmbiguousGrammarsRun: a text of a grammar may be read in thousands of ways.
func TestAmbiguousGrammarsRun(t *testing.T) {
	c, err := Grammar(gpt2(), "root ::= r0\n"+list(12, "\n", func(i int) string {
		return fmt.Sprintf(`r%d ::= r%d r%d | r%d | "x"`, i, i+1, i+1, i+1)
	})+"\nr12 ::= \"x\"")
	if err != nil {
		t.Fatal(err)
	}
	if _, got := accepts(t, c, "xxx"); !got {
		t.Error("xxx is not accepted")
	}
}

// TestErrorsOfRegexesAreKeptAside: what is wrong with a form is told where another goroutine found it.
func TestErrorsOfRegexesAreKeptAside(t *testing.T) {
	long := strings.Repeat("(", 30000)
	m := automaton.NewMeter(context.Background(), nil,
		func(_ context.Context, work func()) error { work(); return nil }, len(long))
	if _, err := compileWith(hostile{"regex", 'r', nil}, long, m); err == nil {
		t.Error("it is taken, want an error")
	}
}

// TestWorkMayEndAnywhere: after any step the meter may have had enough, or the client be gone. What is
// compiled after that counts for nothing, and must not fail otherwise.
func TestWorkMayEndAnywhere(t *testing.T) {
	all := map[string]byte{`(?=[\x00-\x7f]*b)(?!ab)[^a]{3,}\b`: 'r', `(`: 'r', jsonGrammar: 'g',
		"root ::= root [^x] | s\ns ::= root \"y\" | /[^z]+/": 'g'}
	for _, s := range judged {
		all[s] = 's'
	}
	for text, kind := range all {
		h := hostile{kind: kind}
		full, _, _ := work(h, text, nil)
		for k := 1; k < full.Used; k += max(1, full.Used/200) {
			m := automaton.NewMeter(context.Background(), nil, nil, len(text))
			m.Used, m.Most = automaton.PauseWork-k, 0
			if _, err := compileWith(h, text, m); err == nil {
				t.Errorf("%.60s: compiled, though its work ends after %d of %d steps", text, k, full.Used)
			}
		}
	}
}

// TestLongRegexesAreParsedAside: parsing cannot pause. Each is parsed once, and its tree is not
// written out as text again, which takes a millisecond for each class such as [^/].
func TestLongRegexesAreParsedAside(t *testing.T) {
	gone := errors.New("gone")
	for _, n := range []int{3, 3000} {
		long := strings.Repeat("a?", n)
		for _, form := range []hostile{{"regex", 'r', nil}, {"pattern", 's', nil}} {
			text := long
			if form.kind == 's' {
				text = `{"type":"string","pattern":"^` + long + `$"}`
			}
			asides := 0
			m := automaton.NewMeter(context.Background(), nil,
				func(_ context.Context, work func()) error { asides++; work(); return nil }, len(text))
			if _, err := compileWith(form, text, m); err != nil && n == 3 {
				t.Error(err)
			}
			if asides != min(n/3000, 1) {
				t.Errorf("%s of %d bytes: %d times aside", form.name, len(text), asides)
			}
			m = automaton.NewMeter(context.Background(), nil,
				func(_ context.Context, work func()) error { return gone }, len(text))
			if _, err := compileWith(form, text, m); n > 3 && !errors.Is(err, gone) {
				t.Errorf("%s: %v, want %v", form.name, err, gone)
			}
		}
	}
}
