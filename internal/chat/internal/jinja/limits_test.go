package jinja

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

// endless are templates that would never end, or fill the memory, or the stack.
var endless = []string{
	`{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}`,
	`{% for a in range(99999) %}{% for b in range(99999) %}x{% endfor %}{% endfor %}`,
	`{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}`,
	`{% macro f() %}{{ f() }}{{ f() }}{% endmacro %}{{ f() }}`,
	`{% macro f(n) %}{% for i in range(9) %}{{ g(n) }}{% endfor %}{% endmacro %}{% macro g(n) %}{{ f(n) }}{% endmacro %}{{ f(1) }}`,
	`{{ "a" * 1000000000 }}`, `{{ "a" * 4611686018427387904 }}`, `{{ [1] * 1000000000 }}`, `{{ ("ab" * 99999) * 99999 }}`,
	`{% set ns = namespace(s="a") %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`,
	`{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`,
	`{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}`,
	`{% set ns = namespace(s=[1]) %}{% for i in range(99999) %}{% set ns.s = [ns.s] %}{% endfor %}{{ ns.s|tojson }}`,
	`{% set ns = namespace(s=[], t=[]) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s == ns.t }}`,
	`{% set ns = namespace(s=[], t=[]) %}{% for i in range(50) %}{% set ns.s = [ns.s, ns.s] %}{% set ns.t = [ns.t, ns.t] %}{% endfor %}{{ ns.s < ns.t }}`,
	`{{ range(1000000000) }}`, `{{ range(0, 10, 0) }}`, `{{ 9 ** 99999 }}`, `{{ 9223372036854775807 + 1 }}`, `{{ 2 ** 62 * 4 }}`,
	`{{ ("a" * 99999)|replace("a", "b" * 99999) }}`, `{{ ("a" * 99999)|replace("", "b" * 999) }}`,
	`{{ ("a" * 99999)|list|join("b" * 9999) }}`, `{{ "a"|indent(99999999999) }}`, `{{ ("\n" * 99999)|indent(9999, blank=true) }}`,
	`{{ [[1]]|tojson(indent=99999999999) }}`, `{{ range(99999)|list|tojson(indent=9999) }}`,
	`{% set s = "ab" * 99999 %}{% for i in range(99999) %}{{ s in s ~ i }}{% endfor %}`,
	`{% set s = "ab" * 99999 %}{% for i in range(99999) %}{% if s == s %}{% endif %}{% endfor %}`,
	`{% set s = "ab" * 99999 %}{% for i in range(99999) %}{{ s[::-1][0] }}{% endfor %}`,
	`{% set s = " " * 99999 %}{% for i in range(99999) %}{{ s|trim }}{% endfor %}`,
	`{% set s = "a " * 99999 %}{% for i in range(99999) %}{{ s.split()|length }}{% endfor %}`,
	`{% set s = range(99999)|list %}{% for i in s %}{{ (s|sort)[0] }}{{ -1 in s }}{% endfor %}`,
	`{% set x %}` + `{% for a in range(99999) %}0123456789{% endfor %}` + `{% endset %}{% for a in range(99) %}{{ x }}{% endfor %}`,
	`{% for a in range(99999) %}{% for b in "` + strings.Repeat("a", 9999) + `" %}{% endfor %}{% endfor %}`,
	`{% set ns = namespace() %}{% macro f() %}{{ ns.g() }}{% endmacro %}{% set ns.g = f %}{{ f() }}`,
	`{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% endmacro %}{{ g() }}`,
	"{{ " + strings.Repeat("(", 60000) + "1" + strings.Repeat(")", 60000) + " }}",
	"{{ " + strings.Repeat("[", 120000), "{{ " + strings.Repeat("-", 120000) + "1 }}", "{{ " + strings.Repeat("not ", 30000) + "1 }}",
	strings.Repeat("{% if 1 %}", 12000), strings.Repeat("{% for a in b %}", 8000), "{{ " + strings.Repeat("a if b else ", 9000) + "c }}",
	"{% set " + strings.Repeat("(", 120000), "{{ 1" + strings.Repeat("+1", 60000) + " }}", "{{ 1" + strings.Repeat("|abs", 30000) + " }}",
	"{{ a" + strings.Repeat(".a", 60000) + " }}", "{{ a" + strings.Repeat("[0]", 40000) + " }}", "{{ a" + strings.Repeat("()", 60000) + " }}",
	strings.Repeat("a", Longest+1), strings.Repeat("{", Longest), strings.Repeat("{#", Longest/2), strings.Repeat("{%", Longest/2),
}

// TestWhatNeverEndsIsAnswered: each is an error with its line, after a bounded number of steps and
// bytes. It counts what is allocated, which does not depend on the machine.
func TestWhatNeverEndsIsAnswered(t *testing.T) {
	for _, source := range endless {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		template, err := Parse(source)
		if err == nil {
			_, err = template.Render(NewDict(), noon)
		}
		runtime.ReadMemStats(&after)
		var own *Error
		if !errors.As(err, &own) || own.Line < 1 || len(err.Error()) > 200 {
			t.Errorf("%.80q: %.300v, want one line", source, err)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 400 {
			t.Errorf("%.80q: %d MiB were allocated", source, n)
		}
	}
}

// TestAnErrorIsTheSameEachTime: of two bounds that are none, it names the first.
func TestAnErrorIsTheSameEachTime(t *testing.T) {
	template, err := Parse(`{{ 'abc'['x':[]] }}`)
	if err != nil {
		t.Fatal(err)
	}
	for range 50 {
		_, err := template.Render(NewDict(), noon)
		if err == nil || err.Error() != "line 1: want a whole number, found a str" {
			t.Fatal(err)
		}
	}
}

// TestALongConversationIsRendered: limits grow with the messages.
func TestALongConversationIsRendered(t *testing.T) {
	var messages []any
	for range 10000 {
		messages = append(messages, NewDict().Set("role", "user").Set("content", strings.Repeat("a b ", 100)))
	}
	template, err := Parse(`{% for m in messages %}{% if m.role == 'user' and m['content'] is string %}` +
		`{{ '<|' + m.role + '|>' + m['content']|trim + '\n' }}{% endif %}{% endfor %}`)
	if err != nil {
		t.Fatal(err)
	}
	text, err := template.Render(NewDict().Set("messages", messages), noon)
	if err != nil || len(text) != 10000*408 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// FuzzTemplate: no source is a panic, and every error is one line.
func FuzzTemplate(f *testing.F) {
	for _, source := range endless {
		f.Add(source[:min(len(source), 300)])
	}
	f.Add(`{% macro a(b, c=1) %}{{ b|tojson(indent=2) }}{% endmacro %}{% call a(1) %}x{% endcall %}{{ [1, 'a'][::-1] ~ {}.a }}`)
	f.Fuzz(func(t *testing.T, source string) {
		template, err := Parse(source)
		if err == nil {
			_, err = template.Render(NewDict().Set("messages", []any{NewDict().Set("role", "user")}), noon)
		}
		if err != nil && strings.HasPrefix(err.Error(), "line 0") {
			t.Errorf("%v", err)
		}
	})
}
