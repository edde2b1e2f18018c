package main

// The flags of structs whose fields have tags for github.com/alecthomas/kong, as those of package
// genflags have, which module picogpt/corpus shares.

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"picogpt/internal/cli"
	"picogpt/internal/genflags"
)

// addTagged adds the flags of the struct that flags points to. Fields with the tag group begin a
// group.
func addTagged(f *cli.Flags, flags any) {
	texts := genflags.Help()
	v := reflect.ValueOf(flags).Elem()
	for i := range v.NumField() {
		field, p := v.Type().Field(i), v.Field(i).Addr().Interface()
		if group, ok := field.Tag.Lookup("group"); ok {
			f.Group(group)
		}
		if _, embedded := field.Tag.Lookup("embed"); embedded {
			addTagged(f, p)
			continue
		}
		name := field.Tag.Get("name")
		if name == "" {
			name = hyphened(field.Name)
		}
		spec := "--" + name
		if alias := field.Tag.Get("aliases"); alias != "" {
			spec += ", --" + alias
		}
		if short := field.Tag.Get("short"); short != "" {
			spec = "-" + short + ", " + spec
		}
		if placeholder := field.Tag.Get("placeholder"); placeholder != "" {
			spec += " " + placeholder
		}
		if standard := field.Tag.Get("default"); standard != "" {
			spec += fmt.Sprintf(" [%s]", standard)
		}
		help := field.Tag.Get("help") + texts["--"+name] + taggedHelp[name]
		flag := f.Add(p, spec, help)
		if values := field.Tag.Get("enum"); values != "" {
			flag.OneOf(strings.Split(values, ",")...)
		}
	}
}

// hyphened is a field's name as a flag's: TopK is top-k.
func hyphened(name string) string {
	var b strings.Builder
	for i, r := range name {
		if i > 0 && unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// taggedHelp is the help of flags that have none in their tag, by their names.
var taggedHelp = map[string]string{
	"typical": `choose among the tokens whose surprise is nearest to what is expected, that have
		the probability P together; 1 is off`,
	"epsilon": "choose among tokens at least P likely; 0 is off",
	"eta":     "choose among tokens at least P likely, or less where the model is unsure; 0 is off",
	"top-h":   "choose among the likeliest tokens that have the share H of the entropy; 0 is off",
	"top-n-sigma": `choose among tokens whose logit is at most N standard deviations below the
		greatest; 0 is off`,
	"xtc-probability": `how often the likeliest tokens are left out, all but the last of those
		above the threshold; 0 is off`,
	"xtc-threshold": "how likely a token must be for that; above 0.5 nothing is left out",
	"dynatemp-range": `let the temperature go from T-R, where the model is sure, to T+R, where
		it is not; 0 is off`,
	"dynatemp-exponent": `how the temperature follows the entropy: its share of the greatest
		possible one, to the power of E`,
	"mirostat": `in place of all filters, keep the surprise of the tokens near a target, by
		version 1 or 2; 0 is off`,
	"samplers": `the order and the definitions of the filters: hf (Hugging Face's), llama.cpp
		(llama.cpp's), or the names of those to apply, in order, with commas between them`,
	"frequency-penalty": "" +
		"what a token's logit loses for each time that the new text has it; 0 is off",
	"presence-penalty": "what a token's logit loses if the new text has it; 0 is off",
	"penalty-prompt": `whether the penalties count the prompt's tokens, true or false after =;
		default: --repeat-penalty does, the others do not, and with --samplers llama.cpp all do`,
	"no-repeat-ngram": "write no sequence of N tokens twice; 0 is off",
	"dry-multiplier": "" +
		"DRY: what a token loses that would continue a repetition; 0.8 is usual, 0 is off",
	"dry-base":           "and how that grows with each token more of the repetition",
	"dry-allowed-length": "shorter repetitions lose nothing",
	"dry-last-n":         "how many of the last tokens DRY looks at; -1 is all, 0 is off",
	"dry-breaker": `no repetition goes beyond this string of at most 40 bytes; the flag may be
		repeated; default: a newline, :, " and *; none is no string`,
	"logit-bias": `add X to the logit of a token, which is its id or its text, as in ' Lily=5';
		-inf forbids the token; the flag may be repeated`,
	"ban": `the new text does not contain this string: it goes back to where the string begins,
		and on another way; the flag may be repeated`,
	"eos": "the token that ends the text, or none; the flag may be repeated; default: the model's",
	"guidance": "" +
		"go further from what --negative would lead to, G times as far; 1 is off, 1.5 is usual",
	"negative":     "the prompt to go away from; default: the prompt's last token",
	"length-decay": "from START new tokens on, make the end likelier by the factor at each token",
	"choice":       "the new text is this string, or one of several; the flag may be repeated",
	"choices":      "the new text is one of these strings; \\, is a comma in one",
	"regex":        "the new text matches this regular expression from beginning to end (RE2 syntax)",
	"json-schema": `the new text is JSON that this JSON Schema accepts; FILE, or the schema
		itself: {} is any JSON; - is stdin`,
	"json-closed": "" +
		"objects with properties have no others, unless the schema has additionalProperties",
	"json-space": `white space in the JSON: one (after each colon and comma, or none; the
		default), none, or a number: up to so many spaces, tabs and newlines wherever JSON allows them`,
	"grammar": `the new text is what rule root of this grammar describes (GBNF, as llama.cpp
		reads it); - is stdin`,
	"beams": `beam search: N texts go on side by side, and the likeliest whole text wins; a
		--temp given too samples them`,
	"length-penalty": `the score of a text is its log-probability divided by its length to the
		power of L: above 0 favours long texts, below 0 short ones`,
	"early-stopping": `when N texts have ended: true ends the search, false goes on while the
		best text that runs scores better as it is, never while any could`,
	"beam-groups": "diverse beam search: divide the beams into G groups",
	"diversity":   "what a token loses for each beam of an earlier group that has just taken it",
	"contrastive": `contrastive search: of the --top-k likeliest tokens (4 unless given) take a
		likely one that is unlike the text before it; 0 is greedy, 0.6 is usual`,
	"lookup": `guess up to N tokens at a time from where the newest ones occurred before; the
		text stays the same; 0 is off`,
	"draft": "let the checkpoint in DIR guess, or this one in q8 or q4; the text stays the same",
}
