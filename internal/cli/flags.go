package cli

// The flags of a command: flags of package pflag, with what help shows of them.

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"picogpt/internal/fault"
)

// Flags are the flags of a command, in the order of its help.
type Flags struct {
	*pflag.FlagSet

	group string
	given []given

	help, version bool
}

// NewFlags returns flags as add adds them, which may be nil.
func NewFlags(add func(*Flags)) *Flags {
	f := &Flags{FlagSet: pflag.NewFlagSet("", pflag.ContinueOnError)}
	f.SortFlags = false
	if add != nil {
		add(f)
	}
	return f
}

// Group puts the flags that Add adds from now on below a heading.
func (f *Flags) Group(heading string) { f.group = heading }

// Add adds a flag, and sets *p to its default. p points to a bool, int, uint64, float64, string,
// time.Duration or a list of strings (the flag may be repeated), or to a pointer to one of them,
// which stays nil unless the flag is given; or it is a pflag.Value or an encoding.TextUnmarshaler.
//
// spec is how help shows the flag, and then its default: "--json", "-f, --file FILE",
// "--top-k K [40]". A second long name, as in "--temp, --temperature T [0.8]", is an alias, which
// help leaves out.
func (f *Flags) Add(p any, spec, help string) Flag {
	spec, standard, _ := strings.Cut(strings.TrimSuffix(spec, "]"), " [")
	names, placeholder, _ := strings.Cut(strings.ReplaceAll(spec, ", ", ","), " ")
	flag := Flag{&pflag.Flag{Value: newValue(p), DefValue: standard, Usage: oneLine(help)}}
	var aliases []string
	for name := range strings.SplitSeq(names, ",") {
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case !isLong:
			flag.Shorthand = name[1:]
		case flag.Name == "":
			flag.Name = long
		default:
			aliases = append(aliases, long)
		}
	}
	if standard != "" {
		if err := flag.Value.Set(standard); err != nil {
			panic(fmt.Sprintf("cli: --%s: default %s: %v", flag.Name, standard, err))
		}
	}
	if flag.Value.Type() == "bool" {
		flag.NoOptDefVal = "true"
	}
	if _, ok := p.(pflag.Value); ok && standard == "" {
		flag.DefValue = flag.Value.String()
	}
	f.AddFlag(flag.Flag)
	return flag.Note(f.group, placeholder, aliases...)
}

// oneLine is a text without its line breaks and indents.
func oneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// All are the flags, in their order.
func (f *Flags) All() (all []Flag) {
	f.VisitAll(func(flag *pflag.Flag) { all = append(all, Flag{flag}) })
	return all
}

// Find returns the flag of a name or an alias, without hyphens before it.
func (f *Flags) Find(name string) (Flag, bool) {
	if flag := f.Lookup(name); flag != nil {
		return Flag{flag}, true
	}
	for _, flag := range f.All() {
		if slices.Contains(flag.Aliases(), name) {
			return flag, true
		}
	}
	return Flag{}, false
}

// A given is a flag on a command line.
type given struct {
	flag   Flag
	typed  string // its name as it was typed: --temp or -n
	value  string
	option string // --name=value, or --name where no value was typed
}

// newGiven is a flag with the value that was typed, if any was.
func newGiven(flag Flag, typed, value string, hasValue bool) given {
	g := given{flag, typed, value, "--" + flag.Name}
	if hasValue {
		g.option += "=" + value
	} else {
		g.value = flag.NoOptDefVal
	}
	return g
}

// Given are the names of the flags that were given.
func (f *Flags) Given() map[string]bool {
	names := map[string]bool{}
	for _, g := range f.given {
		names[g.flag.Name] = true
	}
	return names
}

// Options are those of the given flags that keep wants, in their order, in the form --name=value.
func (f *Flags) Options(keep func(Flag) bool) []string {
	options := []string{}
	for _, g := range f.given {
		if keep(g.flag) {
			options = append(options, g.option)
		}
	}
	return options
}

// SetOption sets a flag by a text in the form of Options.
func (f *Flags) SetOption(option string) error {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(option, "--"), "=")
	flag, ok := f.Find(name)
	if !ok {
		return worded(f.Set(name, value))
	}
	late, err := f.apply(newGiven(flag, "--"+name, value, hasValue))
	return cmp.Or(err, late)
}

// apply sets a flag that f has. late is the error of a value that is none of those that the flag
// takes: it counts less than a wish for help.
func (f *Flags) apply(g given) (late, err error) {
	flag, ok := f.Find(g.flag.Name)
	if !ok {
		return nil, f.Set(g.flag.Name, "") // a pflag.NotExistError
	}
	value := g.value
	if flag.Value.Type() == "bool" {
		value = strings.ToLower(value)
		switch value {
		case "yes":
			value = "true"
		case "no":
			value = "false"
		}
	}
	if err := f.Set(flag.Name, value); err != nil {
		return nil, worded(err)
	}
	g.flag = flag // what it was found as may be another command's
	f.given = append(f.given, g)
	if values := flag.Values(); values != nil && !slices.Contains(values, value) {
		late = fault.Usagef("--%s: want %s, found %q", flag.Name, either(values), value)
	}
	return late, nil
}

// wants is what the types of values are in words.
var wants = map[string]string{
	"int": "a whole number", "uint64": "a whole number, 0 or more", "float64": "a number",
	"bool": "true or false", "duration": "a duration, such as 100ms or 5m",
}

// worded is an error of package pflag in the words of this program: what is named, what was wanted,
// what was found.
func worded(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return fault.Usage{Err: err}
	}
	flag, cause, found := invalid.GetFlag(), errors.Unwrap(invalid), invalid.GetValue()
	var part *partError
	if errors.As(cause, &part) {
		found = part.part
	}
	if want := wants[flag.Value.Type()]; want != "" {
		return fault.Usagef("--%s: want %s, found %q", flag.Name, want, found)
	}
	return fault.Usagef("--%s: %w", flag.Name, cause)
}

// either is a list of words with or before the last.
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// A Flag is a flag of a command.
type Flag struct{ *pflag.Flag }

// The keys of what a flag says in its annotations.
const (
	keyGroup       = "group"
	keyPlaceholder = "placeholder"
	keyValues      = "values"
	keyAliases     = "aliases"
)

// Note tells what help shows of a flag: the heading above it, "" for that of all others, and the
// placeholder of its value; and its aliases, which help leaves out.
func (f Flag) Note(group, placeholder string, aliases ...string) Flag {
	f.note(keyGroup, group)
	f.note(keyPlaceholder, placeholder)
	f.note(keyAliases, aliases...)
	return f
}

// OneOf names all values that a flag may have.
func (f Flag) OneOf(values ...string) Flag {
	f.note(keyValues, values...)
	return f
}

func (f Flag) note(key string, values ...string) {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return
	}
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[key] = values
}

// Values are all values that a flag may have, nil for any.
func (f Flag) Values() []string { return f.Annotations[keyValues] }

// Aliases are the names of a flag that help leaves out.
func (f Flag) Aliases() []string { return f.Annotations[keyAliases] }

// Group is the heading above a flag, "" for that of all others.
func (f Flag) Group() string { return strings.Join(f.Annotations[keyGroup], "") }

// Placeholder is what help shows for the value of a flag, "" for a flag without.
func (f Flag) Placeholder() string { return strings.Join(f.Annotations[keyPlaceholder], "") }

// IsBool reports whether a flag may stand without a value.
func (f Flag) IsBool() bool { return f.NoOptDefVal != "" }

// Repeats reports whether a flag may be given several times, each time with one value more.
func (f Flag) Repeats() bool {
	_, ok := f.Value.(pflag.SliceValue)
	return ok
}

// yesNo reports whether a flag may be true, false or not there.
func (f Flag) yesNo() bool {
	_, ok := f.Value.(*optional[bool])
	return ok
}

// WithHelp is the flag with another text of help.
func (f Flag) WithHelp(help string) Flag {
	flag := *f.Flag
	flag.Usage = oneLine(help)
	return Flag{&flag}
}

// helpText is the help of a flag, with its default if the text does not tell it.
func (f Flag) helpText() string {
	if f.DefValue == "" || f.IsBool() || strings.Contains(f.Usage, "default:") {
		return f.Usage
	}
	return fmt.Sprintf("%s (default %s)", f.Usage, f.DefValue)
}

// shown is a flag with its short name and its placeholder, as help shows it.
func (f Flag) shown() string {
	name := "    --" + f.Name
	if f.Shorthand != "" {
		name = "-" + f.Shorthand + ", --" + f.Name
	}
	switch {
	case f.yesNo():
		return name + "=BOOL"
	case f.IsBool():
		return name
	}
	return name + " " + f.Placeholder()
}
