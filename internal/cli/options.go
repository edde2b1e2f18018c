package cli

// Flags of the table of options.

import "picogpt/internal/option"

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
