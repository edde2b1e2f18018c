package main

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/alecthomas/kong"
)

// pages lays the overview out, and the page of each command, by their names.
func pages(t *testing.T, width int) map[string]string {
	t.Helper()
	root := grammar(t)
	overview := &page{width: width}
	overview.overview(root)
	all := map[string]string{"": overview.String()}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, c := range n.Children {
			p := &page{width: width}
			p.command(c)
			all[c.Path()] = p.String()
			visit(c)
		}
	}
	visit(root)
	return all
}

func TestHelpFitsItsWidth(t *testing.T) {
	for _, width := range []int{40, 80, 81, 120} {
		for name, text := range pages(t, width) {
			for line := range strings.Lines(text) {
				line = strings.TrimSuffix(line, "\n")
				n, example := utf8.RuneCountInString(line), strings.HasPrefix(line, "  ")
				if n > width && (width >= 80 || !example) {
					t.Errorf("gpt %s --help at %d columns: a line of %d: %s", name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("gpt %s --help at %d columns: spaces at the end of %q", name, width,
						line)
				}
			}
		}
	}
}

func TestHelpUsesItsWidth(t *testing.T) {
	narrow, wide := pages(t, 80), pages(t, 160)
	for name := range narrow {
		if a, b := strings.Count(narrow[name], "\n"), strings.Count(wide[name], "\n"); b >= a {
			t.Errorf("gpt %s --help: %d lines at 160 columns and %d at 80", name, b, a)
		}
	}
}

func TestHelpExplainsEachFlagAndArgument(t *testing.T) {
	texts := pages(t, 80)
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		for _, p := range n.Positional {
			row := "\n  " + strings.ToUpper(p.Name) + "  "
			if p.Tag.Hidden {
				continue
			}
			if p.Help == "" || !strings.Contains(texts[n.Path()], row) {
				t.Errorf("gpt %s --help: no word on %s", n.Path(), p.Name)
			}
		}
		for _, f := range n.Flags {
			if !f.Hidden && (f.Help == "" || !strings.Contains(texts[n.Path()], " --"+f.Name)) {
				t.Errorf("gpt %s --help: no word on --%s", n.Path(), f.Name)
			}
			if f.Default != "" && !strings.Contains(flagHelp(f), "default") {
				t.Errorf("gpt %s --help: no word on the default of --%s", n.Path(), f.Name)
			}
		}
		for _, c := range n.Children {
			if c.Help == "" {
				t.Errorf("gpt %s: no word on it", c.Path())
			}
			visit(c)
		}
	}
	visit(grammar(t))
}

func TestProse(t *testing.T) {
	p := page{width: 20}
	p.prose(`
Words that are wrapped at a
width.

  an example, which stays as it is

key	what it is, wrapped
	and continued
longkey	more
`)
	const want = `Words that are
wrapped at a width.

  an example, which stays as it is

  key      what it
           is,
           wrapped
           and
           continued
  longkey  more
`
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p.String(), want)
	}
}

func TestRowsOfANarrowPageStandBelow(t *testing.T) {
	p := page{width: 20}
	p.rows([][2]string{{"--a-long-flag VALUE", "what it does"}})
	if want := "  --a-long-flag VALUE\n      what it does\n"; p.String() != want {
		t.Errorf("got %q, want %q", p.String(), want)
	}
}

func TestTextsOfFlagsAreOfFlags(t *testing.T) {
	known := map[string]bool{}
	var visit func(n *kong.Node)
	visit = func(n *kong.Node) {
		add := func(name string, v *kong.Value) {
			for _, name := range []string{name, strings.TrimSpace(n.Path() + " " + name)} {
				known[name] = known[name] || v.Tag.Help == ""
			}
		}
		for _, f := range n.Flags {
			add("--"+f.Name, f.Value)
		}
		for _, p := range n.Positional {
			add(p.Name, p)
		}
		for _, c := range n.Children {
			visit(c)
		}
	}
	visit(grammar(t))
	for name, text := range flagTexts() {
		if !known[name] || text == "" {
			t.Errorf("flags.txt: %s: %q, want a text of a flag that has none beside it", name, text)
		}
	}
}
