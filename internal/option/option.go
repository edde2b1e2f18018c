// Package option describes the options of a caller: each option once, with the field of a struct
// that holds its value, its range, its flag, its field in a request and its setting on the page.
// Structs of options list their own options, bound to themselves, in a table that [Of] finds, as
// sample.Params and decode.Options do. From these tables come the checks of the Go API, the flags
// and their help, the contents of receipts, the server's fields and the page's settings.
//
// A new option needs a row in such a table, and the code that applies it.
//
// An [Option] is a row, with its [Flag], [Field], [Setting] and [Range]; [In], [Find] and [Wanting]
// look rows up. value.go reads, checks and prints what a row's Value points to: [Option.Set],
// [Check], [CheckFlags], whose errors are [Error]s. A [Value] has a syntax of its own. [TakeSaved]
// takes what a checkpoint says of options.
package option

import (
	"math"
	"reflect"
	"slices"
)

// An Option is one row of the table.
type Option struct {
	// Name is the option's name in errors of the Go API.
	Name string

	// Value points to the value: a *float64, *int, *uint64, *bool, **bool, *string, *[]string or
	// *[]int, or it is a Value, for an option with a syntax of its own.
	Value any

	// Range holds the numbers that Check accepts, Words the strings, or nil; Want says so in
	// errors.
	Range Range
	Words []string
	Want  string

	// Check returns what else is wrong with the value, in the form of Error.Rest, or "". Nil:
	// nothing.
	Check func() string

	// Default is the value where none is given, as a user writes it: in the API and in gpt next.
	// Usual, unless it is "", is that of the others: gpt generate, gpt chat, corpus and the page.
	Default, Usual string

	// Settle turns the value that a user wrote into its meaning in Go, where they differ: 0 may be
	// the smallest number in the one, and off in the other. Nil: they are the same.
	Settle func()

	// With are flags of which it needs one: without them the option has no effect.
	With []string

	// Step is the step of a sampler that the option belongs to, if a list of samplers may name it.
	Step string

	// Filter marks options that remove tokens, Drawn those that have no effect unless tokens are
	// drawn, and Text those that need a tokenizer when they are on.
	Filter, Drawn, Text bool

	// Remembers marks options whose effect depends on the tokens that were drawn before.
	Remembers bool

	// IsOn reports whether the value has an effect. Nil: it has one unless it is Default.
	IsOn func() bool

	// Idle returns why the value has no effect together with those of other options, or "". Nil: it
	// has one.
	Idle func() string

	In      Surfaces
	Flag    Flag
	Field   Field
	Setting Setting

	// Saved are its names in a checkpoint's generation_config.json. Unasked, unless it is nil, is
	// called when the value is the checkpoint's.
	Saved   []string
	Unasked func()
}

// Surfaces are the places beside gpt generate where an option has a flag, and the files that have
// it.
type Surfaces int

const (
	Chat     Surfaces = 1 << iota // gpt chat and /set
	Next                          // gpt next
	Corpus                        // corpus generate
	Receipts                      // receipts, which have the options that tokens depend on
)

// A Range is the numbers from From to To, both included; To 0 means no upper end. The zero Range is
// 0 and all numbers above it. No Range has NaN or an infinity.
type Range struct {
	From, To float64
	Zero     bool // 0 is in the range too
	Minus    bool // -1 is, of a flag, and means 0
}

// A Flag is the option on a command line.
type Flag struct {
	Name    string
	Short   string // of one letter, or ""
	Aliases []string
	Holder  string // the placeholder of the value in the help
	Group   string
	Help    string
	Others  string // its names in other programs, separated by spaces
	None    bool   // of a list: the value none is the empty list

	// Range is the numbers that a command line accepts, if not Option.Range; Want says so in
	// errors.
	Range Range
	Want  string
}

// Groups of flags, in the order of the help.
const (
	HowMuch    = "How much:"
	WhichOnes  = "Which tokens:"
	Filters    = "More filters:"
	Repetition = "Against repetition:"
	Wanted     = "Wanted and unwanted tokens:"
	Searches   = "Searches:"
	Guessing   = "Guessing, for speed:"
	Output     = "Output:"
)

// A Field is the option in a request.
type Field struct {
	Name    string
	Default string // unless it is Option.Default
	Range   Range  // of a number, which is below Option.Range where that means off
	Most    int    // the most members of a list, or bytes of a text
	Bytes   int    // the most of each text of a list; 0: as many as of others
	Single  bool   // accepts one string in place of a list
}

// Limits of fields that have none of their own.
const (
	Most       = math.MaxInt32 // of a whole number
	MostNumber = 1e6           // of another number
)

// A Setting is a field on the page.
type Setting struct {
	Group  string
	Label  string
	Help   string
	Value  string // the value at first, if not Option.Usual
	Min    float64
	Max    float64
	Step   float64
	Slider float64 // where a slider ends before Max, or 0
	Read   string  // the function of values.js that reads it; "" for none
	Always bool    // it is sent even if it equals Option.Default
}

// tables has a func(*T) []Option for each struct T of the library that is registered. They are
// found here and not by methods, so that no signature of a public package has a type that only
// programs of this module can name.
var tables = map[reflect.Type]any{}

// Register says how the options of a type of structs are listed. Packages call it when they are
// initialized.
func Register[T any](table func(*T) []Option) { tables[reflect.TypeFor[T]()] = table }

// Of returns the options of a struct whose type is registered, bound to its fields: those of
// sample.Params, decode.Options and search.BeamOptions.
func Of[T any](options *T) []Option {
	return tables[reflect.TypeFor[T]()].(func(*T) []Option)(options)
}

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
	return Either(names)
}

// Options that stand in no struct of the library: functions take them as arguments.

// Samples returns the option of how many texts are written for a prompt.
func Samples(n *int) Option {
	return Option{
		Name: "samples", Value: n, Want: "at least 1", Range: Range{From: 1}, Default: "1",
		In: Corpus | Receipts,
		Flag: Flag{Name: "samples", Holder: "N", Group: HowMuch,
			Others: "num-samples n-samples num-return-sequences best-of count completions",
			Help:   "write N texts; text i, counted from 0, is what seed S+i gives alone"},
		Field: Field{Name: "n", Range: Range{From: 1, To: 128}},
		Setting: Setting{Group: "Completion", Label: "Samples", Min: 1, Max: 16, Step: 1,
			Slider: 8, Help: "More than one are shown side by side, to choose from."},
	}
}

// Contrastive returns the option of search.Contrastive's alpha, which is nil without that search.
func Contrastive(alpha **float64) Option {
	return Option{
		Name: "contrastive alpha", Value: alpha, Range: Range{To: 1},
		Want: "a number from 0 to 1", In: Receipts,
		Flag: Flag{Name: "contrastive", Holder: "ALPHA", Group: Searches,
			Others: "penalty-alpha",
			Help: "contrastive search: of the --top-k likeliest tokens (4 unless given) take a " +
				"likely one that is unlike the text before it; 0 is greedy, 0.6 is usual"},
	}
}
