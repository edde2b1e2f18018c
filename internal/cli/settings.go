package cli

// Settings: flags that stand in the environment or in a file.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/pelletier/go-toml/v2/unstable"

	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
)

// Settings let the flags of a command stand in the environment and in a file in TOML, which the flag
// --config names; --print-config, which the command obeys, prints them all. What the command line
// says of a flag outranks the environment, and that the file. Lists are not added up.
type Settings struct {
	Prefix    string            // of the variables of flags: GPT_SERVE_ makes GPT_SERVE_PORT --port
	Variables map[string]string // of a flag, by its name, where the one with the prefix is not there

	// Parts are flags that say a part of what another one says: --port of --addr. One is not taken
	// from a place that the place of the other outranks.
	Parts map[string]string

	Read func(names ...string) ([]string, error) // files, of a bounded size
}

func (s *Settings) flags(f *Flags) {
	f.Add(new(string), "--config FILE", `take flags from a file in TOML: port = 9000. The command line
		outranks $`+s.Prefix+`PORT and the like, and these the file; default: no file is read`)
	f.Add(&f.printConfig, "--print-config",
		"print all flags with their values as such a file, say where each is from, and end")
}

// PrintsConfig reports whether --print-config is given.
func (f *Flags) PrintsConfig() bool { return f.printConfig }

// A place is what one place says of flags, by their names.
type place map[string][]given

// take sets the flags that the command line leaves to the environment or the file.
func (s *Settings) take(f *Flags) error {
	places := []place{{}, {}, {}}
	for _, g := range f.given {
		places[0][g.flag.Name] = append(places[0][g.flag.Name], g)
	}
	at := func(name string) int {
		return slices.IndexFunc(places, func(p place) bool { return p[name] != nil })
	}
	if err := s.environment(f, places[1]); err != nil {
		return err
	}
	if i := at("config"); i >= 0 {
		named := places[i]["config"]
		if err := s.file(f, named[len(named)-1], places[2]); err != nil {
			return err
		}
	}
	for _, flag := range f.All {
		i, whole := at(flag.Name), at(s.Parts[flag.Name])
		if i < 1 || whole >= 0 && whole < i {
			continue
		}
		for _, g := range places[i][flag.Name] {
			if err := f.set(g); err != nil {
				return err
			}
		}
	}
	return nil
}

// add adds values of a flag. where is the name of the flag in its place.
func (p place) add(flag *Flag, where string, values []string) {
	for _, v := range values {
		p[flag.Name] = append(p[flag.Name], given{flag: flag, value: v, place: where})
	}
}

// setting returns the flag that is called name in a place, which spells all names as spell does.
func (f *Flags) setting(where, name string, spell func(string) string) (*Flag, error) {
	var names []string
	for _, flag := range f.All {
		switch spelt := spell(flag.Name); {
		case slices.Contains([]string{"print-config", "help", "version"}, flag.Name):
		case spelt == name:
			return flag, nil
		default:
			names = append(names, spelt)
		}
	}
	err := fault.Usagef("%s: want the name of a flag", where)
	if near := Nearest(name, names); near != "" {
		err = fault.Hint(err, "did you mean "+near+"?")
	}
	return nil, err
}

// environment adds the flags that the environment has. An empty variable says nothing.
func (s *Settings) environment(f *Flags, to place) error {
	spell := func(name string) string {
		return s.Prefix + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, s.Prefix) {
			continue
		}
		flag, err := f.setting(name, name, spell)
		if err != nil {
			return err
		}
		values := []string{value}
		if flag.Repeats || value == "" {
			values = SplitCommas(value)
		}
		to.add(flag, name, values)
	}
	for name, variable := range s.Variables {
		if value := os.Getenv(variable); value != "" && to[name] == nil {
			to.add(f.Find(name), variable, []string{value})
		}
	}
	return nil
}

// file adds the flags that the file of --config has. No error shows a value, which may be a secret,
// unless its flag finds it wrong.
func (s *Settings) file(f *Flags, config given, to place) error {
	file := quote.Plain(config.value, 80)
	texts, err := s.Read(config.value)
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	if err != nil {
		return fault.Usagef("%s %s: %w", config.name(), file, err)
	}
	var p unstable.Parser // which bounds how deep values are nested, and its work by the bytes
	p.Reset(bytes.TrimPrefix([]byte(texts[0]), []byte("\ufeff")))
	line := func(r unstable.Range) string {
		return fmt.Sprintf("%s line %d", file, p.Shape(r).Start.Line)
	}
	for p.NextExpression() {
		var words []string
		where, e := "", p.Expression()
		for word := e.Key(); word.Next(); {
			where, words = line(word.Node().Raw), append(words, string(word.Node().Data))
		}
		name := strings.Join(words, ".")
		where += ": " + quote.Plain(name, 60)
		flag, err := f.setting(where, name, func(name string) string { return name })
		if err != nil {
			return err
		}
		if to[name] != nil || name == "config" || e.Kind != unstable.KeyValue {
			return fault.Usagef("%s: want it once, with a value, and no other file", where)
		}
		values, err := flag.valuesOf(e.Value())
		if err != nil {
			return fault.Usagef("%s: %w", where, err)
		}
		to.add(flag, where, values)
	}
	if wrong, ok := errors.AsType[*unstable.ParserError](p.Error()); ok {
		return fault.Usagef("%s: %s", line(p.Range(wrong.Highlight)), wrong.Message)
	}
	return p.Error()
}

// valuesOf returns what a value in TOML says of a flag, as the command line would: numbers as they
// are written.
func (f *Flag) valuesOf(v *unstable.Node) (values []string, err error) {
	isList := f.Repeats && v.Kind == unstable.Array
	if isList {
		v = v.Child()
	}
	for ; v.Valid(); v = v.Next() {
		isOne := v.Kind != unstable.Array && v.Kind != unstable.InlineTable && !f.isText()
		if v.Kind != unstable.String && !isOne {
			return nil, errors.New("want a text in quotes")
		}
		if values = append(values, string(v.Data)); !isList {
			break
		}
	}
	return values, nil
}

func (f *Flag) isText() bool {
	_, is := f.Value.(scalar[string])
	return is
}

// inPlace returns a mistake that begins with a flag as one that begins with the place where its value
// stands.
func (f *Flags) inPlace(err error) error {
	if _, ok := errors.AsType[fault.Usage](err); ok {
		for _, g := range slices.Backward(f.given) {
			rest, ok := strings.CutPrefix(err.Error(), "--"+g.flag.Name)
			if g.place != "" && ok && (rest == "" || rest[0] == ':' || rest[0] == ' ') {
				return fault.Hint(fault.Usagef("%s%s", g.place, rest), fault.HintOf(err))
			}
		}
	}
	return err
}

// Config is all flags with their values as a file that --config takes, each with the place that it is
// from. What is not set, a secret, or nothing that TOML can have is in a comment.
func (f *Flags) Config() string {
	var b strings.Builder
	for _, flag := range f.All {
		if slices.Contains([]string{"config", "print-config", "help", "version"}, flag.Name) {
			continue
		}
		from, values := "default", []string(nil)
		for _, g := range f.given {
			if g.flag == flag {
				from, values = cmp.Or(g.place, "flag"), append(values, g.value)
			}
		}
		if first := flag.Default; values == nil && (first != "" || flag.Bool && !flag.YesNo) {
			values = []string{cmp.Or(first, "false")}
		}
		switch text, err := flag.toml(values); {
		case values == nil:
			fmt.Fprintf(&b, "# %s = # %s, not set\n", flag.Name, cmp.Or(flag.Placeholder, "BOOL"))
		case flag.Secret || err != nil || strings.Contains(text, "\x7f"):
			fmt.Fprintf(&b, "# %s = \"***\" # %s, not printed\n", flag.Name, from)
		default:
			fmt.Fprintf(&b, "%s = %s # %s\n", flag.Name, text, from)
		}
	}
	return b.String()
}

// toml is the value of a flag in TOML, which has texts, lists and whole numbers as JSON has them.
func (f *Flag) toml(values []string) (string, error) {
	var value any = values
	if last := len(values) - 1; !f.Repeats && last >= 0 {
		value = values[last]
		if n, err := strconv.Atoi(values[last]); err == nil && strconv.Itoa(n) == value && !f.isText() {
			value = n
		}
		if f.Bool {
			value, _ = option.ParseBool(values[last])
		}
	}
	text, err := json.Marshal(value)
	return string(text), err
}
