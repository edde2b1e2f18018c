package cli

// The flags of a command.

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/fault"
	"picogpt/internal/option"
)

// Flags are the flags of a command.
type Flags struct {
	All []*Flag // in the order of its help

	names map[string]*Flag // by their names and aliases
	group string
	given []given

	version, printConfig bool
}

// A Flag is a flag of a command.
type Flag struct {
	Name        string
	Short       string   // of one letter, or ""
	Aliases     []string // names that help leaves out
	Placeholder string   // of its value, as help shows it; "" for a flag without
	Help        string
	Default     string   // as help tells it, "" for none
	Group       string   // the heading above it; "" for that of all others
	Values      []string // those that it may have; nil: any
	Bool        bool     // it may stand without a value
	YesNo       bool     // and is true, false or not there
	Repeats     bool     // it may be given several times, each time with one value more
	Secret      bool     // --print-config hides its value

	Value  Value
	Option *option.Option // that it sets, or nil
}

// NewFlags returns flags as add adds them, which may be nil.
func NewFlags(add func(*Flags)) *Flags {
	f := &Flags{names: map[string]*Flag{}}
	if add != nil {
		add(f)
	}
	return f
}

// Group puts the flags that Add adds from now on below a heading.
func (f *Flags) Group(heading string) { f.group = heading }

// Add adds a flag, and sets *p to its default. p points to a bool, int, uint64, float64, string,
// time.Duration or list of strings (the flag may be repeated), or to a pointer to one of the first
// five, which stays nil unless the flag is given; or it is a Value or an encoding.TextUnmarshaler.
//
// spec is how help shows the flag, and then its default: "--json", "-f, --file FILE",
// "--top-k K [40]". A second long name, as in "--temp, --temperature T [0.8]", is an alias.
func (f *Flags) Add(p any, spec, help string) *Flag {
	flag := &Flag{Value: newValue(p), Group: f.group, Help: oneLine(help)}
	if before, value, ok := strings.Cut(spec, " ["); ok {
		spec, flag.Default = before, strings.TrimSuffix(value, "]")
	}
	names, placeholder, _ := strings.Cut(strings.ReplaceAll(spec, ", ", ","), " ")
	flag.Placeholder = placeholder
	for name := range strings.SplitSeq(names, ",") {
		long, isLong := strings.CutPrefix(name, "--")
		switch {
		case !isLong:
			flag.Short = name[1:]
		case flag.Name == "":
			flag.Name = long
		default:
			flag.Aliases = append(flag.Aliases, long)
		}
	}
	switch p.(type) {
	case *bool:
		flag.Bool = true
	case **bool:
		flag.Bool, flag.YesNo = true, true
	case *[]string:
		flag.Repeats = true
	}
	if flag.Default != "" {
		if err := flag.Value.Set(flag.Default); err != nil {
			panic(fmt.Sprintf("cli: --%s: %v", flag.Name, err))
		}
	}
	if v, ok := p.(interface{ standard() }); ok {
		v.standard()
	}
	f.AddFlag(flag)
	return flag
}

// oneLine is a text without its line breaks and indents.
func oneLine(text string) string {
	if !strings.Contains(text, "\n") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// AddFlag adds a flag, which other Flags may have too.
func (f *Flags) AddFlag(flag *Flag) {
	for _, name := range append([]string{flag.Name}, flag.Aliases...) {
		if f.names[name] != nil {
			panic("cli: two flags --" + name)
		}
		f.names[name] = flag
	}
	f.All = append(f.All, flag)
}

// Find returns the flag of a name or an alias, without hyphens before it, or nil.
func (f *Flags) Find(name string) *Flag { return f.names[name] }

// typed returns the flag of a name as it is typed, --name or -n, or nil.
func (f *Flags) typed(name string) *Flag {
	if long, isLong := strings.CutPrefix(name, "--"); isLong {
		return f.Find(long)
	}
	at := slices.IndexFunc(f.All, func(f *Flag) bool {
		return f.Short != "" && "-"+f.Short == name
	})
	if at < 0 {
		return nil
	}
	return f.All[at]
}

// A given is a flag on a command line, or in another place.
type given struct {
	flag   *Flag
	typed  string // its name as it was typed: --temp or -n
	value  string
	option string // --name=value, or --name where no value was typed
	place  string // "" on a command line, else where it stands, as errors name it
}

// name is what errors call the flag.
func (g given) name() string { return cmp.Or(g.place, "--"+g.flag.Name) }

// newGiven is a flag with the value that was typed, if any was.
func newGiven(flag *Flag, typed, value string, hasValue bool) given {
	if !hasValue {
		return given{flag, typed, "true", "--" + flag.Name, ""}
	}
	return given{flag, typed, value, "--" + flag.Name + "=" + value, ""}
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
func (f *Flags) Options(keep func(*Flag) bool) []string {
	options := []string{}
	for _, g := range f.given {
		if keep(g.flag) {
			options = append(options, g.option)
		}
	}
	return options
}

// SetOption sets a flag, which f must have, by a text in the form of Options.
func (f *Flags) SetOption(option string) error {
	name, value, hasValue := strings.Cut(strings.TrimPrefix(option, "--"), "=")
	g := newGiven(f.Find(name), "--"+name, value, hasValue)
	return cmp.Or(f.set(g), g.checkListed())
}

// set sets a flag that f has. Whether the value is one of those that the flag takes, checkListed
// says.
func (f *Flags) set(g given) error {
	if err := g.flag.Value.Set(g.value); err != nil {
		if g.flag.Option != nil {
			return fault.Usage{Err: option.ByFlag(err)}
		}
		return fault.Usagef("%s: %w", g.name(), err)
	}
	f.given = append(f.given, g)
	return nil
}

// checkListed refuses the last value of each flag if it is none of those that the flag takes. A flag
// without a default may be empty.
func (f *Flags) checkListed() (err error) {
	last := map[*Flag]given{}
	for _, g := range f.given {
		last[g.flag] = g
	}
	for _, flag := range f.All {
		if g, isGiven := last[flag]; isGiven && err == nil {
			err = g.checkListed()
		}
	}
	return err
}

func (g given) checkListed() error {
	values := g.flag.Values
	if values == nil || slices.Contains(values, g.value) || g.value == "" && g.flag.Default == "" {
		return nil
	}
	return fault.Usagef("%s: want %s, found %q", g.name(), option.Either(values), g.value)
}

// OneOf names all values that a flag may have.
func (f *Flag) OneOf(values ...string) { f.Values = values }

// helpText is the help of a flag, with its default if the text does not tell it.
func (f *Flag) helpText() string {
	if f.Default == "" || strings.Contains(f.Help, "default:") {
		return f.Help
	}
	return fmt.Sprintf("%s (default %s)", f.Help, f.Default)
}

// shown is a flag with its short name and its placeholder, as help shows it.
func (f *Flag) shown() string {
	name := "    --" + f.Name
	if f.Short != "" {
		name = "-" + f.Short + ", --" + f.Name
	}
	switch {
	case f.YesNo:
		return name + "=BOOL"
	case f.Bool:
		return name
	}
	return name + " " + f.Placeholder
}

// Flags of the table of options.

// AddOptions adds the flags of options, and gives each option what it has at first.
func (f *Flags) AddOptions(table []option.Option, usual bool) {
	for i := range table {
		o := &table[i]
		if o.Flag.Name == "" {
			continue
		}
		flag := &Flag{
			Name: o.Flag.Name, Short: o.Flag.Short, Aliases: o.Flag.Aliases,
			Placeholder: o.Flag.Holder, Help: o.Flag.Help, Default: o.First(usual),
			Group: o.Flag.Group, Values: o.Words, Repeats: o.Repeats(), Option: o, Value: o,
		}
		switch o.Value.(type) {
		case *bool:
			flag.Bool = true
		case **bool:
			flag.Bool, flag.YesNo = true, true
		}
		if flag.Default != "" {
			o.Set(flag.Default) // of which a test of the table knows that it can be read
		}
		f.AddFlag(flag)
	}
}

// OfOptions returns what other programs call options, for Command.Elsewhere.
func OfOptions(table []option.Option) (elsewhere []Elsewhere) {
	for _, o := range table {
		if o.Flag.Others != "" {
			elsewhere = append(elsewhere, Elsewhere{"--" + o.Flag.Name, o.Flag.Others})
		}
	}
	return elsewhere
}
