package option

// Flags beside one another: which need others, and which have no effect.

import (
	"slices"
)

// In returns the options that one of some surfaces has.
func In(options []Option, surfaces Surfaces) []Option {
	return slices.DeleteFunc(slices.Clone(options), func(o Option) bool {
		return o.In&surfaces == 0 || o.Flag.Name == ""
	})
}

// Find returns the option of a flag, or nil.
func Find(options []Option, flag string) *Option {
	i := slices.IndexFunc(options, func(o Option) bool { return o.Flag.Name == flag })
	if i < 0 {
		return nil
	}
	return &options[i]
}

// Wanting calls f with each flag that was given without one that it needs, and with what it needs.
func Wanting(options []Option, given func(flag string) bool, f func(flag, want string)) {
	for _, o := range options {
		if given(o.Flag.Name) && len(o.With) > 0 && !slices.ContainsFunc(o.With, given) {
			f("--"+o.Flag.Name, wanted(options, o.With))
		}
	}
}

// wanted lists flags, of which a single one has what stands for its value.
func wanted(options []Option, flags []string) string {
	var names []string
	for _, flag := range flags {
		names = append(names, "--"+flag)
	}
	if o := Find(options, flags[0]); o != nil && len(flags) == 1 {
		names[0] += " " + o.Flag.Holder
	}
	return listed(names)
}
