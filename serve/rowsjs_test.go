package serve

// The settings of the page, which are the rows of the table of options: page/assets/rows.js.

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"picogpt/internal/option"
)

//go:generate go test -run TestThePageHasTheTable -write

var write = flag.Bool("write", false, "write page/assets/rows.js anew")

func TestThePageHasTheTable(t *testing.T) {
	const name = "page/assets/rows.js"
	want := rowsJS(newCompletion().table(128))
	if *write {
		if err := os.WriteFile(name, []byte(want), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s: %v; go generate ./serve writes it anew", name, err)
	}
}

// rowsJS returns the module of the settings.
func rowsJS(rows []option.Option) string {
	var b strings.Builder
	b.WriteString(`// Settings: the rows of the table of options that the page shows. go generate ./serve writes
// this file.
//
// Names are those of the API. value is the default of the page and of the command gpt. off is the
// API's default: a setting with this value is not sent. A slider may end before max.

import * as read from "./values.js";

export const ROWS = [
`)
	for i := range rows {
		if s := &rows[i].Setting; s.Label != "" {
			fmt.Fprintf(&b, "  {\n    group: %s, name: %s, kind: %s, label: %s,\n", literal(s.Group),
				literal(rows[i].Field.Name), literal(kindOfSetting(&rows[i])), literal(s.Label))
			b.WriteString("    " + strings.Join(values(&rows[i]), ", ") + ",\n")
			fmt.Fprintf(&b, "    help:\n      %s,\n  },\n", literal(s.Help))
		}
	}
	return b.String() + "];\n"
}

// literal returns a string as a literal of JavaScript.
func literal(s string) string {
	b, _ := json.Marshal(s) // strings have JSON
	return string(b)
}

// kindOfSetting returns the kind of control of an option.
func kindOfSetting(o *option.Option) string {
	switch o.Value.(type) {
	case *float64, *int:
		return "number"
	case *bool:
		return "switch"
	case *uint64:
		return "seed"
	}
	return "lines"
}

// values returns the properties of a control: its value and limits.
func values(o *option.Option) []string {
	s, first, off := &o.Setting, o.First(true), o.Default
	if s.Value != "" {
		first = s.Value
	}
	kind := kindOfSetting(o)
	switch {
	case kind == "switch" && first == "":
		first, off = "false", "false"
	case kind != "number":
		first, off = literal(first), literal(off)
	}
	list := []string{"value: " + first}
	if !s.Always {
		list = append(list, "off: "+off)
	}
	if kind == "number" {
		list = append(list, fmt.Sprintf("min: %v, max: %v, step: %v", s.Min, s.Max, s.Step))
	}
	if s.Slider != 0 {
		list = append(list, fmt.Sprintf("slider: %v", s.Slider))
	}
	if s.Read != "" {
		list = append(list, "read: read."+s.Read)
	}
	return list
}
