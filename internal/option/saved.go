package option

// Saved values: what a checkpoint's generation_config.json says of options, as flags.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// mostSaved is how many ids the lists of a file have together.
const mostSaved = 1 << 16

// TakeSaved gives options what the fields of a generation_config.json say of them, in JSON, for a
// vocabulary of so many ids, of which ends end texts; unless outranked reports that another value
// does, if it is not nil. It returns what it took as flags, such as "--temp=0.7". An error names the
// file and the field. As in transformers, do_sample false is the temperature 0, ids outside the
// vocabulary are suppressed already, and what ends texts is no bad word.
func TakeSaved(
	options []Option, fields map[string]json.RawMessage, vocabulary int, ends []int,
	outranked func(*Option) bool,
) (flags []string, err error) {
	left, draws := mostSaved, string(fields["do_sample"])
	for i := range options {
		o := &options[i]
		for _, field := range o.Saved {
			text := string(fields[field])
			if text == "" || outranked != nil && outranked(o) {
				continue
			}
			switch _, isList := o.Value.(Value); {
			case isList:
				text, err = savedIDs(field, text, vocabulary, ends, &left)
			case text == "-1" && o.Unasked != nil: // no limit, as without it
				continue
			case field == "do_sample" && text == "false":
				text = "0"
			case field == "do_sample" && text == "true":
				continue
			case field == "do_sample":
				err = fmt.Errorf(": want true or false, found %.40s", text)
			case len(text) > 40 || !strings.ContainsAny(text[:1], "-0123456789"):
				err = fmt.Errorf(": want a number, found %.40s", text)
			}
			if err == nil && text != "" {
				err = o.take(text)
			}
			if err == nil && field == "temperature" && draws == "true" && o.String() == "0" {
				err = errors.New(" 0 with do_sample true: want more than 0")
			}
			if wrong := (*Error)(nil); errors.As(err, &wrong) {
				err = errors.New(wrong.Rest)
			}
			if err != nil {
				return nil, fmt.Errorf("generation_config.json: %s%w", field, err)
			}
			if text != "" && (field != "temperature" || draws != "false") {
				flags = append(flags, "--"+o.Flag.Name+"="+text)
			}
		}
	}
	return flags, nil
}

// savedIDs returns lists of ids as --ban-ids has them. left is how many more ids there may be.
func savedIDs(field, value string, vocabulary int, ends []int, left *int) (string, error) {
	var ids []int
	var lists [][]int
	var to, want any = &ids, "a list of ids"
	bad, prefix := field == "bad_words_ids", map[string]string{"begin_suppress_tokens": "^"}[field]
	if bad {
		to, want = &lists, "a list of lists of ids"
	}
	if json.Unmarshal([]byte(value), to) != nil {
		return "", fmt.Errorf(": want %v, found %.40s", want, value)
	}
	outside := func(id int) bool { return id < 0 || id >= vocabulary }
	for _, id := range slices.DeleteFunc(ids, outside) {
		lists = append(lists, []int{id})
	}
	var texts []string
	for _, list := range lists {
		*left -= len(list)
		switch at := slices.IndexFunc(list, outside); {
		case *left < 0:
			return "", fmt.Errorf(": want at most %d ids in all lists, found more", mostSaved)
		case len(list) == 0:
			return "", errors.New(": want at least one id in each list, found none")
		case at >= 0:
			return "", fmt.Errorf(": id %d: want 0 to %d", list[at], vocabulary-1)
		case bad && len(list) == 1 && slices.Contains(ends, list[0]):
			continue
		}
		text, _ := json.Marshal(list)
		texts = append(texts, prefix+strings.Trim(string(text), "[]"))
	}
	return strings.Join(texts, " "), nil
}

// take gives the option a value that a checkpoint has, with its meaning in Go.
func (o *Option) take(text string) error {
	always := func(string) bool { return true }
	err := cmp.Or(o.Set(text), CheckFlags([]Option{*o}, always))
	if o.Settle != nil {
		o.Settle()
	}
	if o.Unasked != nil {
		o.Unasked()
	}
	return cmp.Or(err, o.check())
}

// SetSaved gives options the values of flags that TakeSaved returned.
func SetSaved(options []Option, flags []string) error {
	for _, flag := range flags {
		name, text, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
		o := Find(options, name)
		if o == nil || o.Saved == nil {
			return fmt.Errorf("%.40q: want an option that a generation_config.json has", flag)
		}
		if err := o.take(text); err != nil {
			return ByFlag(err)
		}
	}
	return nil
}

// TellSaved says in a line where such flags are from, and how to leave them.
func TellSaved(flags []string) string {
	told := strings.Join(flags, " ")
	if len(told) > 200 { // there may be many ids
		told = told[:200] + "..."
	}
	return told + " from generation_config.json; --generation-config none leaves them"
}
