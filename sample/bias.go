package sample

// Numbers that are added to logits: of tokens, and of sequences of tokens; and sequences of ids that
// are banned.

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/option"
	"picogpt/internal/quote"
)

// A Bias adds Value to the logit of the last of its ids where the context ends with the others,
// which a bias of one id does everywhere. A Value of -Inf removes the id. Several biases of an id
// add up.
type Bias struct {
	IDs   []int
	Value float64
	Text  string // in place of IDs: Params.Open finds them
}

var biasStep = step{
	name: "logit-bias", kind: first, do: func(s *Sampler) { s.add(s.params.Bias) },
	on: func(p *Params) bool { return len(p.Bias) > 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "bias", Value: (*biases)(&p.Bias),
			Check: func() string { return wrongBias(p.Bias) },
			Flag: option.Flag{Name: "logit-bias", Holder: "ID|TEXT=X", Group: option.Wanted,
				Help: "add X to the logit of a token, which is its id or its text, as in " +
					"' Lily=5'; -inf forbids the token; the flag may be repeated"},
			Field: option.Field{Name: "logit_bias", Range: option.Range{From: -100, To: 100}},
			Setting: option.Setting{Group: "Words and tokens", Label: "Bias of tokens",
				Read: "bias",
				Help: "An id and a number a line, such as 198 -5: less than 0 makes the token " +
					"rarer, -100 forbids it."},
		}}
	},
}

func wrongBias(all []Bias) string {
	for i, b := range all {
		switch {
		case len(b.IDs) == 0 && b.Text == "":
			return fmt.Sprintf(" %d of %d: want at least one id, found none", i+1, len(all))
		case !(math.Abs(b.Value) <= 1e100) && !math.IsInf(b.Value, -1):
			return fmt.Sprintf(" %v: want a number from -1e100 to 1e100, or -Inf", b.Value)
		}
	}
	return ""
}

// biases is Params.Bias as the value of an option.
type biases []Bias

// cutBias divides TEXT=X. ok is false if there is no text, or if x cannot be a bias.
func cutBias(s string) (text string, x float64, ok bool) {
	at := max(0, strings.LastIndexByte(s, '='))
	x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimPrefix(s[at:], "=")), 64)
	return s[:at], x, at > 0 && err == nil && !math.IsNaN(x) && !math.IsInf(x, 1)
}

// Set adds a bias, given as ID=X or TEXT=X.
func (b *biases) Set(s string) error {
	text, x, ok := cutBias(s)
	id, noID := strconv.Atoi(strings.TrimSpace(text))
	switch {
	case !ok, noID == nil && id < 0:
		return fmt.Errorf(" %s: want ID=X or TEXT=X, such as 257=-2.5, 257=-inf or ' Lily=5'",
			quote.Short(s, 40))
	case noID != nil:
		*b = append(*b, Bias{Text: text, Value: x})
	default:
		b.Add(id, x)
	}
	return nil
}

// Add adds a bias of one id.
func (b *biases) Add(id int, x float64) { *b = append(*b, Bias{IDs: []int{id}, Value: x}) }

func (b *biases) Repeats() bool { return true }

func (b *biases) NeedsText() bool {
	return slices.ContainsFunc(*b, func(one Bias) bool { return one.Text != "" })
}

func (b *biases) String() string {
	var all []string
	for _, one := range *b {
		if one.Text != "" {
			all = append(all, fmt.Sprintf("%q=%v", one.Text, one.Value))
		} else {
			all = append(all, fmt.Sprintf("%d=%v", one.IDs, one.Value))
		}
	}
	return strings.Join(all, ",")
}

// add adds biases to the scores.
func (s *Sampler) add(biases []Bias) {
	for i := range biases {
		b := &biases[i]
		last := len(b.IDs) - 1
		if !endsWith(s.context, b.IDs[:last]) ||
			s.params.Earlier && last > 0 && last == len(s.context) {
			continue
		}
		if math.IsInf(b.Value, -1) {
			s.shut(b.IDs[last])
		} else if place, ok := s.place(b.IDs[last]); ok {
			s.scores[place] += b.Value
		}
	}
}

func endsWith(tokens, end []int) bool {
	from := len(tokens) - len(end)
	return from >= 0 && slices.Equal(tokens[from:], end)
}

var sequenceBiasStep = step{
	name: "sequence-bias", kind: first, do: func(s *Sampler) { s.add(s.params.SequenceBias) },
	on: func(p *Params) bool { return len(p.SequenceBias) > 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "sequence bias", Value: sequenceBiases{(*biases)(&p.SequenceBias)},
			Check: func() string { return wrongBias(p.SequenceBias) },
			Flag: option.Flag{Name: "sequence-bias", Holder: "TEXT=X", Group: option.Wanted,
				Help: "add X to the logit of the last token of TEXT where the text so far ends " +
					"with its others, as in ' red apple=-5'; TEXT is several tokens, or one, as " +
					"it is written, so that a space before a word counts; -inf forbids TEXT; the " +
					"flag may be repeated"},
			Field: option.Field{Name: "sequence_bias", Most: 1000,
				Range: option.Range{From: -100, To: 100}},
		}}
	},
}

// sequenceBiases is Params.SequenceBias as the value of an option.
type sequenceBiases struct{ *biases }

// Set adds a bias, given as TEXT=X.
func (b sequenceBiases) Set(s string) error {
	text, x, ok := cutBias(s)
	if !ok {
		return fmt.Errorf(" %s: want TEXT=X, such as ' red apple=-5' or ' red apple=-inf'",
			quote.Short(s, 40))
	}
	b.Add(text, x)
	return nil
}

// Add adds a bias of a text.
func (b sequenceBiases) Add(text string, x float64) {
	*b.biases = append(*b.biases, Bias{Text: text, Value: x})
}

// A Ban is a sequence of ids that a text does not contain: its last id is removed where the context
// ends with the others, which with one id is everywhere. No ids are no ban.
type Ban struct {
	IDs   []int
	First bool // only as the first new token
}

var banIDsStep = step{
	name: "ban-ids", kind: first, do: (*Sampler).shutBans,
	on: func(p *Params) bool { return len(p.BanIDs) > 0 },
	table: func(p *Params) []option.Option {
		return []option.Option{{
			Name: "banned ids", Value: (*bans)(&p.BanIDs),
			Saved: []string{"suppress_tokens", "begin_suppress_tokens", "bad_words_ids"},
			Flag: option.Flag{Name: "ban-ids", Holder: "ID,ID...", Group: option.Wanted,
				Others: "bad-words-ids suppress-tokens begin-suppress-tokens",
				Help: "draw none of these sequences of ids, with spaces between them: 5 never, " +
					"5,7 not 7 after 5, ^5 not as the first new token; the flag may be repeated"},
		}}
	},
}

// shutBans removes the ids that would complete a banned sequence.
func (s *Sampler) shutBans() {
	for i := range s.params.BanIDs {
		b := &s.params.BanIDs[i]
		last := len(b.IDs) - 1
		if last >= 0 && (!b.First || s.State.Generated == 0) && endsWith(s.context, b.IDs[:last]) {
			s.shut(b.IDs[last])
		}
	}
}

// bans is Params.BanIDs as the value of an option.
type bans []Ban

// Set adds sequences with a space between them.
func (b *bans) Set(text string) error {
	for one := range strings.SplitSeq(text, " ") {
		ids, isFirst := strings.CutPrefix(one, "^")
		ban := Ban{First: isFirst}
		err := json.Unmarshal([]byte("["+ids+"]"), &ban.IDs)
		if err != nil || len(ban.IDs) == 0 || slices.Min(ban.IDs) < 0 {
			return fmt.Errorf(" %s: want ids, such as 5 or 5,7 or ^5", quote.Short(one, 40))
		}
		*b = append(*b, ban)
	}
	return nil
}

func (b *bans) Repeats() bool { return true }

func (b *bans) String() string {
	var all []string
	for _, ban := range *b {
		text := strings.Trim(strings.ReplaceAll(fmt.Sprint(ban.IDs), " ", ","), "[]")
		if ban.First {
			text = "^" + text
		}
		all = append(all, text)
	}
	return strings.Join(all, " ")
}
