package option

// Flags in relation to one another: which need others, and which have no effect.

import (
	"slices"
)

// In returns the options that belong to at least one of the surfaces.
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

// Wanting calls f with each flag that was given without any of the flags it needs, and with those.
func Wanting(options []Option, given func(flag string) bool, f func(flag, want string)) {
	for _, o := range options {
		if given(o.Flag.Name) && len(o.With) > 0 && !slices.ContainsFunc(o.With, given) {
			f("--"+o.Flag.Name, wanted(options, o.With))
		}
	}
}

// wanted returns the flags as a list; a single one has the placeholder of its value.
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
