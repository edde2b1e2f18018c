package option

// Saved values: what a checkpoint's generation_config.json says of options.

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Saved is a field of a generation_config.json, and the flag that says the same.
type Saved struct {
	Field, Value string // as they stand there
	Flag         string // "--temp=0.7"
}

// mostSaved is how many ids the lists of a file have together.
const mostSaved = 1 << 16

// ReadSaved reads the fields of a generation_config.json that options have, given as JSON, for a
// vocabulary of so many ids, of which ends end texts. It uses the options' values. An error names the
// file and the field. As in transformers, do_sample false is the temperature 0, ids outside the
// vocabulary are suppressed already, and what ends texts is no bad word.
func ReadSaved(
	options []Option, fields map[string]string, vocabulary int, ends []int,
) (all []Saved, err error) {
	ids := idLists{vocabulary: vocabulary, ends: ends, left: mostSaved}
	for i := range options {
		o := &options[i]
		for _, field := range o.Saved {
			value, ok := fields[field]
			if !ok {
				continue
			}
			text, err := ids.text(o, field, value)
			if err == nil && text != "" {
				err = o.take(text)
			}
			if err == nil && field == "temperature" {
				switch x := *o.Value.(*float64); {
				case fields["do_sample"] == "false":
					text = "" // nothing is drawn
				case fields["do_sample"] == "true" && x == 0:
					err = errors.New(" 0 with do_sample true: want more than 0")
				}
			}
			var wrong *Error
			if errors.As(err, &wrong) {
				err = errors.New(wrong.Rest)
			}
			if err != nil {
				return nil, fmt.Errorf("generation_config.json: %s%w", field, err)
			}
			if text != "" {
				all = append(all, Saved{field, value, "--" + o.Flag.Name + "=" + text})
			}
		}
	}
	return all, nil
}

// idLists are what is known of the ids in lists, and how many more there may be.
type idLists struct {
	vocabulary, left int
	ends             []int
}

// text returns the value of a field as its option's Set reads it, "" where it changes nothing.
func (l *idLists) text(o *Option, field, value string) (string, error) {
	var is bool
	var list []int
	var lists [][]int
	read := func(to any, want string) error {
		if json.Unmarshal([]byte(value), to) != nil {
			return fmt.Errorf(": want %s, found %.40s", want, value)
		}
		return nil
	}
	var err error
	switch _, isList := o.Value.(Value); {
	case field == "do_sample":
		if err = read(&is, "true or false"); err == nil && !is {
			return "0", nil
		}
		return "", err
	case !isList && strings.ContainsAny(value[:1], "-0123456789") && len(value) <= 40:
		return value, nil
	case !isList:
		return "", fmt.Errorf(": want a number, found %.40s", value)
	case field == "bad_words_ids":
		err = read(&lists, "a list of lists of ids")
	default:
		err = read(&list, "a list of ids")
	}
	if err != nil {
		return "", err
	}
	for _, id := range list {
		if 0 <= id && id < l.vocabulary {
			lists = append(lists, []int{id})
		}
	}
	var texts []string
	for _, ids := range lists {
		if l.left -= len(ids); l.left < 0 {
			return "", fmt.Errorf(": want at most %d ids in all lists, found more", mostSaved)
		}
		var digits []string
		for _, id := range ids {
			if id < 0 || id >= l.vocabulary {
				return "", fmt.Errorf(": id %d: want 0 to %d", id, l.vocabulary-1)
			}
			digits = append(digits, strconv.Itoa(id))
		}
		switch text := strings.Join(digits, ","); {
		case text == "":
			return "", errors.New(": want at least one id in each list, found none")
		case field == "bad_words_ids" && len(ids) == 1 && slices.Contains(l.ends, ids[0]):
		case field == "begin_suppress_tokens":
			texts = append(texts, "^"+text)
		default:
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, " "), nil
}

// take gives the option a value that a checkpoint has, with its meaning in Go.
func (o *Option) take(text string) error {
	err := o.Set(text)
	if err == nil {
		err = o.checkFlag()
	}
	if err == nil && o.Settle != nil {
		o.Settle()
	}
	if err == nil {
		err = o.check()
	}
	if err == nil && o.Unasked != nil {
		o.Unasked()
	}
	return err
}

// TellSaved says in a line what is taken of a generation_config.json, and how to leave it.
func TellSaved(saved []Saved) string {
	var all []string
	for _, s := range saved {
		const most = 20 // bytes of a value
		if all = append(all, s.Field); len(s.Value) <= most {
			all[len(all)-1] += " " + s.Value
		}
	}
	return "generation_config.json gives " + strings.Join(all, ", ") +
		"; --generation-config none leaves them"
}

// SavedBy returns the option of a flag such as Saved.Flag, nil if there is none that is saved, and the
// flag's value.
func SavedBy(options []Option, flag string) (o *Option, value string) {
	name, value, ok := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	if o = Find(options, name); !ok || o != nil && o.Saved == nil {
		return nil, ""
	}
	return o, value
}

// TakeSaved gives options the values of such flags.
func TakeSaved(options []Option, flags ...string) error {
	for _, flag := range flags {
		o, text := SavedBy(options, flag)
		if o == nil {
			return fmt.Errorf("%.40q: want an option that a generation_config.json has", flag)
		}
		if err := o.take(text); err != nil {
			return ByFlag(err)
		}
	}
	return nil
}
