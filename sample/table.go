package sample

// The table of the options. The options of a step are in the file of the step.

import (
	"fmt"
	"slices"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
)

func init() { option.Register((*Params).table) }

// table returns all options, bound to the fields of p: option.Of finds it.
func (p *Params) table() []option.Option {
	all := make([]option.Option, 0, 48)
	for _, step := range steps() {
		from := len(all)
		all = append(all, step.table(p)...)
		if step.kind >= filter {
			all[from].Filter, all[from].Drawn = step.kind != instead, true
			all[from].IsOn = func() bool { return step.on(p) }
		}
		all[from].Remembers = step.begin != nil
		for i := range all[from:] {
			if step.listed() {
				all[from+i].Step = step.name
			}
		}
	}
	all = append(all, p.otherTable()...)
	for i := range all {
		all[i].In |= option.Chat | option.Next | option.Receipts
	}
	all[len(all)-1].In = option.Chat | option.Next // the seed, which receipts have anyway
	return all
}

// otherTable returns the options that belong to no step.
func (p *Params) otherTable() []option.Option {
	return []option.Option{{
		Name: "samplers", Value: (*order)(&p.Samplers), Default: samplersHF,
		Check: func() string {
			if _, err := p.samplerList(); err != nil {
				return err.Error()
			}
			return ""
		},
		Flag: option.Flag{Name: "samplers", Holder: "ORDER", Group: option.Filters,
			Help: "the order and the definitions of the filters: hf (Hugging Face's), llama.cpp " +
				"(llama.cpp's), or the names of those to apply, in order, with commas between them"},
	}, {
		Name: "allowed tokens", Value: &p.Allowed,
		Check: func() string {
			if i := slices.IndexFunc(p.Allowed, func(id int) bool { return id < 0 }); i >= 0 {
				return fmt.Sprintf(" %d: want ids of 0 or more", p.Allowed[i])
			}
			return ""
		},
		Flag: option.Flag{Name: "allow", Holder: "ID", Group: option.Wanted,
			Others: "allowed-token-ids allowed-tokens",
			Help:   "draw no token but this one; the flag may be repeated"},
		Field: option.Field{Name: "allowed_token_ids", Most: 1 << 16},
	}, {
		Name: "generated tokens", Value: &p.Generated, Want: "0 or more",
	}, {
		Name: "seed", Value: &p.Seed,
		Flag: option.Flag{Name: "seed", Holder: "S", Group: option.WhichOnes,
			Others: "random-seed rng-seed s",
			Help: "the same seed (-2^63 to 2^64-1) gives the same text on every machine; " +
				"default: random, see -v"},
		Field: option.Field{Name: "seed"},
		Setting: option.Setting{Group: "Completion", Label: "Seed", Read: "seed",
			Help: "The same seed, text and settings give the same completion on every machine."},
	}}
}

// order is Params.Samplers as the value of an option.
type order string

// Set accepts a list without empty names.
func (o *order) Set(text string) error {
	for name := range strings.SplitSeq(strings.ReplaceAll(text, ";", ","), ",") {
		if strings.TrimSpace(name) == "" {
			return fmt.Errorf(" %s: want a name before and after each comma, found none",
				quote.Short(text, 40))
		}
	}
	*o = order(text)
	return nil
}

func (o *order) String() string { return string(*o) }
