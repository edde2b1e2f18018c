package jinja

import (
	"cmp"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"picogpt/internal/strictjson"
)

// goldens returns the rows of a file that testdata/goldens.py has made.
func goldens(t *testing.T, name string) []*Dict {
	t.Helper()
	f, err := os.Open("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	if _, err := io.Copy(&b, z); err != nil {
		t.Fatal(err)
	}
	return rowsOf(t, b.String())
}

// rowsOf returns the rows of a text, without the first, which says what made it.
func rowsOf(t *testing.T, text string) (rows []*Dict) {
	t.Helper()
	for line := range strings.Lines(text) {
		r := strictjson.NewReader(line)
		v, err := ReadJSON(r)
		if err = cmp.Or(err, r.End()); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, v.(*Dict))
	}
	if madeBy, _ := rows[0].Get("made_by"); !strings.HasPrefix(madeBy.(string), "transformers ") {
		t.Fatalf("made by %v, want transformers", madeBy)
	}
	return rows[1:]
}

// noon is the time that the goldens were made at.
var noon = time.Date(2024, 7, 4, 15, 6, 7, 0, time.UTC)

// same compares a text with a row's: where transformers has an error, any of ours will do.
func same(t *testing.T, what string, row *Dict, got string, err error) {
	t.Helper()
	want, ok := row.Get("want")
	why, _ := row.Get("error")
	var own *Error
	switch {
	case ok && err != nil:
		t.Errorf("%s: %v, want %q", what, err, want)
	case ok && got != want:
		t.Errorf("%s:\n%q, want\n%q", what, got, want)
	case !ok && err == nil:
		t.Errorf("%s: %q, want an error: %v", what, got, why)
	case !ok && (!errors.As(err, &own) || own.Line < 1 || strings.Contains(err.Error(), "\n")):
		t.Errorf("%s: the error %q, want one line with its number", what, err)
	}
}

// TestTemplatesOfFamiliesAreAsTransformersRendersThem: 15 templates, 20 conversations each.
func TestTemplatesOfFamiliesAreAsTransformersRendersThem(t *testing.T) {
	var conversations []*Dict
	compared := 0
	for _, row := range goldens(t, "families.jsonl.gz") {
		if c, ok := row.Get("conversation"); ok {
			conversations = append(conversations, c.(*Dict))
			continue
		}
		family, _ := row.Get("family")
		number, _ := row.Get("number")
		source, err := os.ReadFile("testdata/families/" + family.(string) + ".jinja")
		if err != nil {
			t.Fatal(err)
		}
		template, err := Parse(string(source))
		if err != nil {
			t.Fatalf("%s: %v", family, err)
		}
		variables := NewDict().Set("bos_token", "<s>").Set("eos_token", "</s>").Set("tools", nil).
			Set("documents", nil).Set("add_generation_prompt", false)
		c := conversations[number.(int)]
		got, err := template.Render(variables.With(c), noon)
		same(t, family.(string), row, got, err)
		compared++
	}
	if compared != 15*20 {
		t.Errorf("%d are compared, want 300", compared)
	}
}
