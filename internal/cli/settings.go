package cli

// Settings: flags that stand in the environment or in a file.

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pelletier/go-toml/v2/unstable"

	"picogpt/internal/fault"
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
}

// fileBytes are those of a file at most.
const fileBytes = 1 << 20

func (s *Settings) flags(f *Flags) {
	f.Add(new(string), "--config FILE", `take flags from a file in TOML: port = 9000. The command line
		outranks $`+s.Prefix+`PORT and the like, and these the file; default: no file is read`)
	f.Add(&f.printConfig, "--print-config",
		"print all flags with their values as such a file, say where each is from, and end")
}

// isSetting reports whether a flag may stand in a file.
func (f *Flag) isSetting() bool {
	return !slices.Contains([]string{"config", "print-config", "help", "version"}, f.Name)
}

// PrintsConfig reports whether --print-config is given.
func (f *Flags) PrintsConfig() bool { return f.printConfig }

// take sets the flags of c that the command line leaves to the environment or the file.
func (s *Settings) take(c *Command, f *Flags) error {
	line := map[string][]given{}
	for _, g := range f.given {
		line[g.flag.Name] = append(line[g.flag.Name], g)
	}
	environment, err := s.environment(c, f)
	if err != nil {
		return err
	}
	places := []map[string][]given{line, environment, nil}
	at := func(name string) int {
		return slices.IndexFunc(places, func(p map[string][]given) bool { return len(p[name]) > 0 })
	}
	if i := at("config"); i >= 0 {
		named := places[i]["config"]
		if places[2], err = f.read(named[len(named)-1]); err != nil {
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

// environment returns the flags that the environment has. An empty variable says nothing.
func (s *Settings) environment(c *Command, f *Flags) (map[string][]given, error) {
	all, flags := map[string][]given{}, map[string]*Flag{}
	var names []string
	for _, flag := range f.All {
		if flag.isSetting() || flag.Name == "config" {
			name := s.Prefix + strings.ToUpper(strings.ReplaceAll(flag.Name, "-", "_"))
			names, flags[name] = append(names, name), flag
		}
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		flag, values := flags[name], []string{value}
		switch {
		case !strings.HasPrefix(name, s.Prefix):
			continue
		case flag == nil:
			err := fault.Usagef("%s: %s has no flag of this name", name, c.program())
			return nil, hintNearest(err, name, names)
		case value == "":
			continue
		case flag.Repeats:
			values = SplitCommas(value)
		}
		for _, v := range values {
			all[flag.Name] = append(all[flag.Name], given{flag: flag, value: v, place: name})
		}
	}
	for name, variable := range s.Variables {
		if value := os.Getenv(variable); value != "" && all[name] == nil {
			all[name] = []given{{flag: f.Find(name), value: value, place: variable}}
		}
	}
	return all, nil
}

// hintNearest says which of names a misspelt one may be.
func hintNearest(err error, name string, names []string) error {
	if near := Nearest(name, names); near != "" {
		return fault.Hint(err, "did you mean "+near+"?")
	}
	return err
}

// read returns the flags that a file has.
func (f *Flags) read(config given) (map[string][]given, error) {
	name := quote.Plain(config.value, 80)
	text, err := readFile(config.value)
	if err != nil {
		return nil, fault.Usagef("%s %s: %w", config.name(), name, err)
	}
	all := map[string][]given{}
	var p unstable.Parser // which bounds how deep values are nested, and its work by the bytes
	p.Reset(bytes.TrimPrefix(text, []byte("\ufeff")))
	for p.NextExpression() {
		e := p.Expression()
		var words []string
		line := 0
		for word := e.Key(); word.Next(); {
			words = append(words, string(word.Node().Data))
			line = p.Shape(word.Node().Raw).Start.Line
		}
		key := strings.Join(words, ".")
		place := fmt.Sprintf("%s line %d: %s", name, line, quote.Plain(key, 60))
		flag := f.Find(key)
		switch {
		case e.Kind != unstable.KeyValue:
			return nil, fault.Usagef("%s: want a flag and its value, found a table", place)
		case flag == nil || flag.Name != key || !flag.isSetting():
			return nil, f.unknownKey(place, key)
		case all[key] != nil:
			return nil, fault.Usagef("%s comes twice", place)
		}
		values, err := flag.valuesOf(e.Value())
		if err != nil {
			return nil, fault.Usagef("%s: %w", place, err)
		}
		for _, v := range values {
			all[key] = append(all[key], given{flag: flag, value: v, place: place})
		}
	}
	var wrong *unstable.ParserError
	if errors.As(p.Error(), &wrong) {
		line := p.Shape(p.Range(wrong.Highlight)).Start.Line
		return nil, fault.Usagef("%s line %d: %s", name, line, wrong.Message)
	}
	return all, p.Error()
}

func readFile(name string) ([]byte, error) {
	file, err := os.Open(name)
	var text []byte
	if err == nil {
		defer file.Close()
		text, err = io.ReadAll(io.LimitReader(file, fileBytes+1))
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	if len(text) > fileBytes {
		err = fmt.Errorf("want at most %d bytes", fileBytes)
	}
	return text, err
}

func (f *Flags) unknownKey(place, key string) error {
	var names []string
	for _, flag := range f.All {
		if flag.isSetting() {
			names = append(names, flag.Name)
		}
	}
	return hintNearest(fault.Usagef("%s: want the name of a flag", place), key, names)
}

// valuesOf returns what a value in TOML says of a flag, as the command line would: numbers as they are
// written. No error shows the value, which may be a secret.
func (f *Flag) valuesOf(v *unstable.Node) (values []string, err error) {
	_, isText := f.Value.(scalar[string])
	if f.Repeats && v.Kind == unstable.Array {
		for item := v.Children(); item.Next() && err == nil; {
			if item.Node().Kind != unstable.String {
				return nil, errors.New("want texts in quotes")
			}
			values = append(values, string(item.Node().Data))
		}
		return values, nil
	}
	switch v.Kind {
	case unstable.Bool:
		if !f.Bool {
			return nil, errors.New("want another value than true and false")
		}
	case unstable.String, unstable.Integer, unstable.Float:
		switch {
		case f.Bool:
			return nil, errors.New("want true or false, without quotes")
		case isText && v.Kind != unstable.String:
			return nil, errors.New("want a text in quotes")
		}
	default:
		return nil, errors.New("want a text in quotes, a number, true or false")
	}
	return []string{string(v.Data)}, nil
}

// inPlace returns an error that begins with a flag as one that begins with the place where its
// value stands.
func (f *Flags) inPlace(err error) error {
	if err == nil {
		return nil
	}
	for _, g := range slices.Backward(f.given) {
		rest, ok := strings.CutPrefix(err.Error(), "--"+g.flag.Name)
		if g.place != "" && ok && (rest == "" || rest[0] == ':' || rest[0] == ' ') {
			return &placed{err, g.place + rest}
		}
	}
	return err
}

// placed is an error with another message.
type placed struct {
	error
	message string
}

func (e *placed) Error() string { return e.message }

func (e *placed) Unwrap() error { return e.error }

// Config is all flags with their values as a file that --config takes, each with the place that it is
// from. What is not set, secret or no UTF-8 is in comments.
func (f *Flags) Config() string {
	var b strings.Builder
	for _, flag := range f.All {
		if !flag.isSetting() {
			continue
		}
		before, source, values := "", "default", []string(nil)
		for _, g := range f.given {
			if g.flag == flag {
				values, source = append(values, g.value), "flag"
				if g.place != "" {
					source = g.place
				}
			}
		}
		switch {
		case values == nil && flag.Default != "":
			values = []string{flag.Default}
		case values == nil && flag.Bool && !flag.YesNo:
			values = []string{"false"}
		case values == nil:
			fmt.Fprintf(&b, "# %s = # %s, not set\n", flag.Name, cmp.Or(flag.Placeholder, "true or false"))
			continue
		case flag.Secret:
			before, values, source = "# ", []string{"***"}, source+", a secret"
		case !utf8.ValidString(strings.Join(values, "")):
			before, source = "# ", source+", not in UTF-8"
		}
		text := flag.toml(values[len(values)-1])
		if flag.Repeats && len(values) > 1 {
			for i, v := range values {
				values[i] = flag.toml(v)
			}
			text = "[" + strings.Join(values, ", ") + "]"
		}
		fmt.Fprintf(&b, "%s%s = %s # %s\n", before, flag.Name, text, source)
	}
	return b.String()
}

// toml is the value of a flag in TOML.
func (f *Flag) toml(value string) string {
	_, isText := f.Value.(scalar[string])
	if n, err := strconv.ParseInt(value, 10, 64); f.Bool {
		yes, _ := parseBool(value)
		return strconv.FormatBool(yes)
	} else if !isText && err == nil && strconv.FormatInt(n, 10) == value {
		return value
	}
	b := []byte{'"'}
	for _, r := range value {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case unicode.IsPrint(r):
			b = utf8.AppendRune(b, r)
		default:
			b = fmt.Appendf(b, `\U%08X`, r)
		}
	}
	return string(append(b, '"'))
}
