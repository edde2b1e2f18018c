package chat_test

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"picogpt/dev/cases"
	"picogpt/internal/chat"
	"picogpt/tokenizer"
)

// TestATemplateIsBounded: without limits each of these would take minutes or gigabytes.
func TestATemplateIsBounded(t *testing.T) {
	cases.NotShort(t)
	doubled := `{{define "0"}}%s{{end}}`
	for n := 1; n < 40; n++ {
		doubled += fmt.Sprintf(`{{define "%d"}}{{template "%d"}}{{template "%[2]d"}}{{end}}`, n, n-1)
	}
	doubled += `{{template "39"}}{{.Text}}`
	grows := `{{$x := "0123456789"}}` + strings.Repeat(`{{$x = %s}}`, 50) + `{{.Text}}`
	for name, source := range map[string]string{
		"writes":             `{{range 100000000}}all work and no play {{end}}{{.Text}}`,
		"writes little":      `{{range 100000000}}x{{end}}{{.Text}}`,
		"writes the line":    `{{range 100000000}}{{.}}{{$.Text}}{{end}}`,
		"nothing":            `{{range 1000000000000}}{{end}}{{.Text}}`,
		"continues":          `{{range 1000000000000}}{{continue}}{{end}}{{.Text}}`,
		"an if":              `{{range 1000000000000}}{{if .}}{{end}}{{end}}{{.Text}}`,
		"loops in loops":     `{{range 9999}}{{range 9999}}{{range 9999}}{{end}}{{end}}{{end}}{{.Text}}`,
		"in an if":           `{{if .Text}}{{range 1000000000000}}{{end}}{{end}}{{.Text}}`,
		"in an else":         `{{range 0}}{{else}}{{range 1000000000000}}{{end}}{{end}}{{.Text}}`,
		"in a with":          `{{with .Text}}{{range 1000000000000}}{{end}}{{end}}{{.Text}}`,
		"in a block":         `{{block "b" .}}{{range 1000000000000}}{{end}}{{end}}{{.Text}}`,
		"calls itself":       `{{define "a"}}{{template "a"}}{{end}}{{template "a"}}{{.Text}}`,
		"twice":              `{{define "a"}}{{template "a"}}{{template "a"}}{{end}}{{template "a"}}{{.Text}}`,
		"doubled":            fmt.Sprintf(doubled, ""),
		"doubled text":       fmt.Sprintf(doubled, "text"),
		"print":              strings.ReplaceAll(grows, "%s", "print $x $x"),
		"println":            strings.ReplaceAll(grows, "%s", "println $x $x"),
		"html":               strings.ReplaceAll(grows, "%s", `html $x "<" $x`),
		"js":                 strings.ReplaceAll(grows, "%s", "js $x $x"),
		"urlquery":           strings.ReplaceAll(grows, "%s", "urlquery $x $x"),
		"printf":             strings.ReplaceAll(grows, "%s", `printf "%s%s" $x $x`),
		"printf, again":      strings.ReplaceAll(grows, "%s", `printf "%[1]s%[1]s" $x`),
		"a width":            `{{$x := printf "%1000000d" 1}}{{.Text}}`,
		"widths":             `{{$x := printf "` + strings.Repeat("%999d", 9999) + `" 1}}{{.Text}}`,
		"a precision":        `{{$x := printf "%.1000000f" 1.5}}{{.Text}}`,
		"an argument's":      `{{$x := printf "%*d" 1000000 1}}{{.Text}}`,
		"an indexed one's":   `{{$x := printf "%[2]*[1]d" 1 1000000}}{{.Text}}`,
		"a long template":    strings.Repeat("x", chat.Longest) + `{{.Text}}`,
		"the counter's name": `{{range 100000000}}{{countSteps -9}}{{end}}{{.Text}}`,
	} {
		c, err := chat.New(source, false,
			tokenizer.GPT2())
		if err == nil {
			t.Errorf("%s: a template without bound is taken: %.80s", name, c.Source)
		} else if len(err.Error()) > 200 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %q, want one line", name, err)
		}
	}
}

// TestABoundedTemplateWritesWhatItSays compares the output with text/template's own.
func TestABoundedTemplateWritesWhatItSays(t *testing.T) {
	cases.NotShort(t)
	gpt2 := tokenizer.GPT2()
	for _, source := range []string{
		chat.Plain, `Q: {{.Text}}` + "\nA:",
		`{{range 100}}{{.}},{{end}}{{.Text}}`,
		`{{range $n := 9}}{{if eq $n 3}}{{continue}}{{end}}{{if gt $n 6}}{{break}}{{end}}{{$n}}{{end}}{{.Text}}`,
		`{{define "a"}}<{{.}}>{{end}}{{template "a" .Text}}{{block "b" .}}{{.Turn}}{{end}}`,
		`{{with .Text}}{{len .}}{{else}}none{{end}}{{.Text | printf "%q %5d" | print}}{{.Text}}`,
		`{{html .Text}}{{js .Text}}{{urlquery .Text}}{{println .}}{{slice .Text 0 1}}{{index .Text 0}}{{.Text}}`,
		`{{printf "%-8.3s|%+d|100%%" .Text .Turn}} in 10000 {{.Text}}`,
		strings.Repeat("A long text that says who speaks. ", 1000) + `{{.Text}}`,
	} {
		plain := template.Must(template.New("").Parse(source))
		c, err := chat.New(source, false, gpt2)
		if err != nil {
			t.Errorf("%.60s: %v", source, err)
			continue
		}
		for turn, line := range []string{"hello", `"<&>" 'a'`, strings.Repeat("long ", 19999)} {
			given := chat.Line{Text: line, Turn: turn, Role: chat.User}
			var text strings.Builder
			if err := plain.Execute(&text, given); err != nil {
				continue // %5d of a value that is not a number
			}
			want, err := gpt2.WithSpecial().Encode(text.String())
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Encode(given)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%.60s: %.20q gives %d ids and error %v, want %d ids", source, line,
					len(got), err, len(want))
			}
		}
	}
}

// TestTearingALineIsLinear: a line has many zero bytes and special tokens.
func TestTearingALineIsLinear(t *testing.T) {
	cases.NotShort(t)
	gpt2 := tokenizer.GPT2()
	c, err := chat.New("{{.Text}}<|endoftext|>", false, gpt2)
	if err != nil {
		t.Fatal(err)
	}
	line := strings.Repeat("\x00", 1<<16) + strings.Repeat("<|endoftext|>", 1<<12)
	ids, err := c.Encode(chat.Line{Text: line})
	if err != nil {
		t.Fatal(err)
	}
	want, err := gpt2.Encode(line)
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(ids) != fmt.Sprint(append(want, 50256)) {
		t.Errorf("%d ids, want %d", len(ids), len(want)+1)
	}
}
