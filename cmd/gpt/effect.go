package main

// Flags that have no effect: those that want another flag with them are errors, those that others
// take the place of are told.

import (
	"fmt"

	"picogpt/decode"
	"picogpt/internal/option"
)

// wanting calls f with each flag that was given without one that it needs, which is named as want.
func wanting(table []option.Option, given map[string]bool, f func(flag, want string)) {
	option.Wanting(table, func(flag string) bool { return given[flag] }, f)
	for _, flag := range []string{"json-closed", "json-space"} {
		if given[flag] && !given["json-schema"] {
			f("--"+flag, "--json-schema")
		}
	}
}

// checkNeeds refuses flags that need others.
func checkNeeds(table []option.Option, given map[string]bool) (err error) {
	wanting(table, given, func(flag, want string) {
		if err == nil {
			err = usagef("%s: want %s with it", flag, want)
		}
	})
	return err
}

// sampling are the flags that are on and without effect where nothing is drawn, the filters first.
func sampling(table []option.Option) []string { return append(filters(table), others(table)...) }

// filters are the flags of the filters that are on.
func filters(table []option.Option) []string {
	return on(table, func(o *option.Option) bool { return o.Filter })
}

// others are the flags that are on, without effect where nothing is drawn, and no filters.
func others(table []option.Option) []string {
	return on(table, func(o *option.Option) bool { return o.Drawn && !o.Filter })
}

func on(table []option.Option, f func(*option.Option) bool) (flags []string) {
	for i := range table {
		if o := &table[i]; f(o) && o.On() {
			flags = append(flags, o.Flag.Name)
		}
	}
	return flags
}

// withoutEffect tells which of the flags that were given have no effect, and why: those of a
// command's table, as they are meant. Searches refuse what they do not follow.
func withoutEffect(
	table []option.Option, o *decode.Options, given map[string]bool, searches bool,
) (notes []string) {
	note := func(flag, because string) {
		if given[flag] {
			notes = append(notes, fmt.Sprintf("--%s, because %s", flag, because))
		}
	}
	for i := range table {
		row := &table[i]
		if row.Idle == nil || !row.On() {
			continue
		}
		if because := row.Idle(); because != "" {
			note(row.Flag.Name, because)
		}
	}
	for _, flag := range []string{"lookup", "draft"} {
		if o.Guidance.On() {
			note(flag, "--guidance evaluates two texts, and nothing is guessed for them")
		}
	}
	switch {
	case searches:
	case o.Temperature == 0:
		for _, flag := range sampling(table) {
			note(flag, "--temp 0 takes the likeliest token")
		}
	case o.Mirostat.Version != 0:
		for _, flag := range filters(table) {
			note(flag, "--mirostat takes the place of all filters")
		}
	}
	return notes
}

// noteWithout tells of flags without effect.
func (a *app) noteWithout(notes []string) {
	for _, note := range notes {
		a.Notef("without effect: %s", note)
	}
}
