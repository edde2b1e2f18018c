package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/internal/cli"
	"picogpt/model"
)

// helpPages are the overview, the pages of the commands and those of the topics, by what follows
// gpt help.
func helpPages(t *testing.T, width int) map[string]string {
	t.Helper()
	root := commands(newApp())
	all := map[string]string{}
	root.All(func(c *cli.Command) { all[c.Path()] = c.Help(width) })
	for _, topic := range root.Topics {
		page, err := root.Find([]string{topic.Name})
		if err != nil {
			t.Fatal(err)
		}
		all[topic.Name] = page(width)
	}
	return all
}

func TestHelpFitsItsWidth(t *testing.T) {
	for _, width := range []int{40, 80, 81, 120} {
		for name, text := range helpPages(t, width) {
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
	narrow, wide := helpPages(t, 80), helpPages(t, 160)
	for name := range narrow {
		a, b := strings.Count(narrow[name], "\n"), strings.Count(wide[name], "\n")
		if b > a || b == a && a > 10 { // a page of short lines is as long at any width
			t.Errorf("gpt %s --help: %d lines at 160 columns and %d at 80", name, b, a)
		}
	}
}

func TestHelpExplainsEachFlagAndArgument(t *testing.T) {
	texts := helpPages(t, 80)
	commands(newApp()).All(func(c *cli.Command) {
		path := c.Path()
		if path != "" && c.Short == "" {
			t.Errorf("gpt %s: no word on it", path)
		}
		for _, a := range c.Args {
			row := "\n  " + strings.ToUpper(a.Name) + "  "
			if !a.Hidden && a.Help != "" && !strings.Contains(texts[path], row) {
				t.Errorf("gpt %s --help: no word on %s", path, a.Name)
			}
			if !a.Hidden && !strings.Contains(texts[path], strings.ToUpper(a.Name)) {
				t.Errorf("gpt %s --help: no %s", path, a.Name)
			}
		}
		for _, f := range c.Own().All {
			if path == "" || path == "generate" {
				continue // see TestEachFlagIsOnOnePage
			}
			if f.Help == "" || !strings.Contains(texts[path], " --"+f.Name) {
				t.Errorf("gpt %s --help: no word on --%s", path, f.Name)
			}
			text := strings.Join(strings.Fields(texts[path]), " ")
			if f.Default != "" && !f.Bool && !strings.Contains(f.Help, "default:") &&
				!strings.Contains(text, "(default "+f.Default+")") {
				t.Errorf("gpt %s --help: no word on the default of --%s", path, f.Name)
			}
		}
	})
}

// Each flag of gpt generate is on its page, or in one topic.
func TestEachFlagIsOnOnePage(t *testing.T) {
	texts := helpPages(t, 80)
	for _, f := range commands(newApp()).Child("generate").Own().All {
		var on []string
		for _, name := range append([]string{"generate"}, topicNames()...) {
			row := "--" + f.Name + " " + f.Placeholder
			for line := range strings.Lines(texts[name]) {
				line = strings.TrimPrefix(strings.TrimSpace(line), "-"+f.Short+", ")
				line = strings.Replace(line, "=BOOL", "", 1)
				if strings.HasPrefix(line, strings.TrimSpace(row)+"  ") || line == strings.TrimSpace(row) {
					on = append(on, name)
				}
			}
		}
		if len(on) != 1 || f.Help == "" {
			t.Errorf("--%s: on the pages %q, want one, and %q, want a text", f.Name, on, f.Help)
		}
	}
}

// Each text of help/ is that of a command, a topic or a section, and each of these has one.
func TestEachHelpTextIsUsed(t *testing.T) {
	root := commands(newApp())
	want := map[string]bool{"overview": true, "more": true}
	root.All(func(c *cli.Command) {
		if c.Default == nil && c.Path() != "help" {
			want[c.Path()] = true
		}
	})
	for _, topic := range slices.Concat(root.Topics, root.Manual) {
		want[topic.Name] = true
	}
	for name := range want {
		if helpText(name) == "" {
			t.Errorf("help/%s.txt: want a text", strings.ReplaceAll(name, " ", "-"))
		}
	}
	if files, err := helpTexts.ReadDir("help"); err != nil || len(files) != len(want) {
		t.Errorf("%d texts (%v), want %d", len(files), err, len(want))
	}
}

func topicNames() (names []string) {
	for _, topic := range commands(newApp()).Topics {
		names = append(names, topic.Name)
	}
	return names
}

func TestTheHelpOfTraceHasAllPoints(t *testing.T) {
	help, last := helpPages(t, 200)["trace"], -1
	for _, name := range model.PointNames() {
		name = strings.Replace(name, "*", "N", 1)
		if at := strings.Index(help, "\n  "+name+"  "); at <= last {
			t.Errorf("%s: not there, or not in its place", name)
		} else {
			last = at
		}
	}
}

// The overview has room for commands to come.
func TestHelpIsShort(t *testing.T) {
	texts := helpPages(t, 80)
	for name, most := range map[string]int{"": 50, "generate": 80} {
		if n := strings.Count(texts[name], "\n"); n > most {
			t.Errorf("gpt help %s: %d lines, want at most %d", name, n, most)
		}
	}
}

// Each command has a manual page that explains each of its flags, in lines that mandoc reads. CI
// also runs make man-lint.
func TestManualPages(t *testing.T) {
	root := commands(newApp())
	written := manualPages(root)
	known := regexp.MustCompile(`^\.(Dd|Dt|Os|Sh|Ss|Nm|Nd|Pp|Bl|El|It|Bd|Ed|Xr)( |$)`)
	for name, text := range written {
		open := 0
		for line := range strings.Lines(text) {
			line = strings.TrimSuffix(line, "\n")
			macro, _, _ := strings.Cut(line, " ")
			switch {
			case macro == ".Bl" || macro == ".Bd":
				open++
			case macro == ".El" || macro == ".Ed":
				open--
			}
			switch {
			case strings.HasPrefix(line, "'"), strings.HasPrefix(line, ".") && !known.MatchString(line):
				t.Errorf("%s: %q is a macro, want text", name, line)
			case strings.TrimRight(line, " ") != line, open < 0, open > 1:
				t.Errorf("%s: spaces at the end of %q, or a list in a list", name, line)
			}
		}
		if open != 0 {
			t.Errorf("%s: a list that does not end", name)
		}
	}
	commandsSeen := 0
	root.All(func(c *cli.Command) {
		commandsSeen++
		name := strings.ReplaceAll(strings.TrimSpace("gpt "+c.Path()), " ", "-") + ".1"
		text, ok := written[name]
		if !ok || !strings.Contains(text, "\n.Nd "+c.Short[:4]) {
			t.Errorf("%s: want a page, found %.200q", name, text)
		}
		for _, f := range c.Own().All {
			item := `Fl \-` + strings.ReplaceAll(f.Name, "-", `\-`)
			if c != root && !regexp.MustCompile(`(?m)^\.It .*`+regexp.QuoteMeta(item)+`( Ar|=BOOL|$)`).MatchString(text) {
				t.Errorf("%s: no --%s", name, f.Name)
			}
		}
	})
	if len(written) != commandsSeen {
		t.Errorf("%d pages, want one for each of %d commands", len(written), commandsSeen)
	}
}
