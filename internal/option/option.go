// Package option describes what a caller can choose: each option once, with the field of a struct
// that holds it, its bounds, its flag, its field in a request and its setting on the page. Structs
// of options list their own, bound to themselves, as sample.Params and decode.Options do with a
// method Options. From these lists come the checks of the Go API, the flags and their help, what
// receipts hold, the server's fields and the page's settings.
//
// A new option is its row in such a list, and what is done with it.
package option

import "math"

// An Option is one row of the table.
type Option struct {
	// Name is what errors of the Go API call the option.
	Name string

	// Value is where its value is: a *float64, *int, *uint64, *bool, **bool, *string or *[]string,
	// or a Value where it has a syntax of its own.
	Value any

	// What Check takes of numbers and, unless Words is nil, of strings. Want is how errors say it.
	Range Range
	Words []string
	Want  string

	// Check returns what else is wrong with the value, as Error.Rest has it, or "". Nil: nothing.
	Check func() string

	// Default is the value of who says nothing, as a person writes it: that of the API and of gpt
	// next. Usual, unless "", is that of all others: gpt generate, gpt chat, corpus and the page.
	Default, Usual string

	// Settle turns what a person has written into what it means to Go, where that differs: a 0 may
	// be the smallest number in the one place, and off in the other. Nil: it is the same.
	Settle func()

	// With are the flags of which it needs one: without them the option says nothing.
	With []string

	// Step is the step of a sampler that the option belongs to, if a list of samplers may name it.
	Step string

	// Filter marks what removes tokens, Drawn what has no effect unless tokens are drawn, and Text
	// what wants a tokenizer when it is on.
	Filter, Drawn, Text bool

	// Idle says why the value has no effect beside those of other options, or "". Nil: it has one.
	Idle func() string

	In      Surfaces
	Flag    Flag
	Field   Field
	Setting Setting
}

// Surfaces are the places beside gpt generate where an option has a flag, and the texts that hold
// it.
type Surfaces int

const (
	Chat     Surfaces = 1 << iota // gpt chat and /set
	Next                          // gpt next
	Corpus                        // corpus generate
	Receipts                      // receipts, which hold what tokens depend on
)

// A Range is numbers from From to To, both included, or without an upper end where To is 0. The
// zero Range is 0 and all numbers above it. No Range has NaN or an infinity.
type Range struct {
	From, To float64
	Zero     bool // 0 is one of them too
}

// A Flag is how a command line says the option.
type Flag struct {
	Name    string
	Short   string // of one letter, or ""
	Aliases []string
	Holder  string // what stands for the value in the help
	Group   string
	Help    string
	Others  string // what other programs call it, with spaces between
	None    bool   // of a list: none, and nothing else, is the empty list

	// What a command line takes, where that is not Option.Range, and how errors say it.
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

// A Field is how a request says the option.
type Field struct {
	Name    string
	Default string // unless it is Option.Default
	Range   Range  // of a number, which is below Option.Range where that means off
	Most    int    // members of a list at most
	Single  bool   // one string in place of a list will do
}

// Bounds of fields that have none of their own.
const (
	Most       = math.MaxInt32 // of a whole number
	MostNumber = 1e6           // of another one
)

// A Setting is how the page shows a field.
type Setting struct {
	Group  string
	Label  string
	Help   string
	Value  string // at first, unless it is Option.Usual
	Min    float64
	Max    float64
	Step   float64
	Slider float64 // where a slider ends before Max, or 0
	Read   string  // the function of values.js that reads it, "" for none
	Always bool    // it is sent even if it is Option.Default
}
