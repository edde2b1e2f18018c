package decode

// The table of a text's options. Package sample has the table of those that choose a token.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
)

func init() { option.Register((*Options).table) }

// table returns all options, bound to the fields of o: option.Of finds it.
func (o *Options) table() []option.Option {
	return slices.Concat(o.lengthTable(), option.Of(&o.Params), o.wantedTable(), o.guessTable())
}

// ownTable returns the table without package sample's options.
func (o *Options) ownTable() []option.Option {
	return slices.Concat(o.lengthTable(), o.wantedTable(), o.guessTable())
}

// lengthTable returns the options of a text's length.
func (o *Options) lengthTable() []option.Option {
	return []option.Option{{
		Name: "overflow", Value: (*string)(&o.Overflow), Default: string(OverflowError),
		Words: []string{string(OverflowError), string(OverflowTruncate), string(OverflowSlide)},
		Want:  fmt.Sprintf("%q, %q or %q", OverflowError, OverflowTruncate, OverflowSlide),
		In:    option.Corpus | option.Receipts,
		Flag: option.Flag{Name: "overflow", Holder: "HOW", Group: option.HowMuch,
			Help: "what to do where the model's context is too small: error, truncate (drop the " +
				"oldest tokens of the prompt) or slide (drop them later too, and write on without end)"},
	}, {
		Name: "max tokens", Value: &o.MaxTokens, Want: "0 (no limit) or more",
		In: option.Chat | option.Corpus | option.Receipts,
		Flag: option.Flag{Name: "max-tokens", Short: "n", Holder: "N", Group: option.HowMuch,
			Aliases: []string{"max-new-tokens", "max-completion-tokens", "n-predict", "num-predict",
				"predict"},
			Others: "length max-length max-len max num-tokens n-tokens new-tokens output-length " +
				"output-tokens tokens-to-generate",
			Range: option.Range{From: 1, Minus: true}, Want: "at least 1, or -1 for no limit",
			Help: "write at most N new tokens; default, and -1: until the text ends or the context " +
				"is full"},
		Field: option.Field{Name: "max_tokens", Default: "16", Range: option.Range{To: option.Most}},
		Setting: option.Setting{Group: "Completion", Label: "New tokens", Value: "40", Always: true,
			Min: 1, Max: 4096, Step: 1, Slider: 256,
			Help: "How many a completion has at most."},
	}, {
		Name: "stop string", Value: &o.Stop, Text: true,
		In: option.Chat | option.Corpus | option.Receipts,
		Check: func() string {
			if i := slices.Index(o.Stop, ""); i >= 0 {
				return fmt.Sprintf(" %d of %d: want at least one byte, found none", i+1, len(o.Stop))
			}
			return ""
		},
		Flag: option.Flag{Name: "stop", Holder: "STRING", Group: option.HowMuch,
			Others: "stop-sequences stop-strings reverse-prompt r",
			Help:   "end the text before this string; the flag may be repeated"},
		Field: option.Field{Name: "stop", Most: 32, Single: true},
		Setting: option.Setting{Group: "End", Label: "Stop at", Read: "strings",
			Help: `A string a line; the text ends before it. \n is a line end.`},
	}, {
		Name: "keep stop", Value: &o.KeepStop, Default: "false", With: []string{"stop"},
		In: option.Chat | option.Receipts,
		Flag: option.Flag{Name: "keep-stop", Aliases: []string{"include-stop-str-in-output"},
			Group: option.Output, Others: "include-stop keep-stop-string no-trim-stop",
			Help: "end the text with the string of --stop, and not before it"},
		Field: option.Field{Name: "include_stop_str_in_output"},
	}}
}

// wantedTable returns the options of a text's contents, and of its end.
func (o *Options) wantedTable() []option.Option {
	const in = option.Chat | option.Next | option.Receipts
	return []option.Option{{
		Name: "banned strings", Value: &o.Ban, Text: true, In: in,
		Check: func() string {
			if slices.Contains(o.Ban, "") {
				return ": want at least one byte in each, found none"
			}
			return ""
		},
		Flag: option.Flag{Name: "ban", Holder: "S", Group: option.Wanted,
			Others: "bad-words bad-words-ids banned-strings",
			Help: "the new text does not contain this string: it goes back to where the string " +
				"begins, and on another way; the flag may be repeated"},
		Field: option.Field{Name: "bad_words", Most: 1000},
		Setting: option.Setting{Group: "Words and tokens", Label: "Never write", Read: "strings",
			Help: "A string a line."},
	}, {
		Name: "end of text", Value: (*ends)(&o.EndOfText), In: in,
		Flag: option.Flag{Name: "eos", Holder: "ID|none", Group: option.Wanted,
			Others: "eos-token-id eos-token stop-token stop-token-ids",
			Help: "the token that ends the text, or none; the flag may be repeated; default: the " +
				"model's"},
	}, {
		Name: "top", Value: &o.Top, Want: "0 (none) or more", Default: "0",
		Flag: option.Flag{Name: "logprobs", Holder: "N", Group: option.Output,
			Others: "top-logprobs probs n-probs log-probs", Want: "0 or more",
			Help: "in json and events, the N likeliest tokens in place of each; default: none"},
		Field: option.Field{Name: "logprobs", Range: option.Range{To: 100}},
		Setting: option.Setting{Group: "Display", Label: "Alternatives", Value: "8", Always: true,
			Min: 1, Max: 100, Step: 1, Slider: 20, Help: "How many a token comes with."},
	}}
}

// guessTable returns the options of speculation, which changes no token.
func (o *Options) guessTable() []option.Option {
	return []option.Option{{
		Name: "lookup", Value: &o.Lookup, Want: "0 (off) or more", Default: "0", In: option.Chat,
		Flag: option.Flag{Name: "lookup", Holder: "N", Group: option.Guessing, Want: "0 or more",
			Others: "prompt-lookup-num-tokens prompt-lookup lookup-ngram",
			Help: "guess up to N tokens at a time from where the newest ones occurred before; the " +
				"text stays the same; 0 is off"},
	}}
}

// ends is Options.EndOfText as the value of an option.
type ends []int

// Set adds an id, or sets that no id ends the text.
func (e *ends) Set(s string) error {
	id, err := strconv.Atoi(s)
	none := *e != nil && len(*e) == 0
	switch {
	case none || s == "none" && *e != nil:
		return fmt.Errorf(" none and another --eos: want one of them")
	case s == "none":
		*e = []int{}
		return nil
	case err != nil || id < 0:
		return fmt.Errorf(" %s: want a token's id, or none", quote.Short(s, 40))
	}
	*e = append(*e, id)
	return nil
}

func (e *ends) Repeats() bool { return true }

func (e *ends) String() string {
	if *e != nil && len(*e) == 0 {
		return "none"
	}
	return strings.Trim(strings.ReplaceAll(fmt.Sprint([]int(*e)), " ", ","), "[]")
}
