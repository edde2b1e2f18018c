package main

// The flags of options of the table, for kong.

import (
	"errors"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"picogpt/internal/option"
)

// addOptions adds the flags of options to a command. given has the names of those that were read.
func addOptions(n *kong.Node, table []option.Option, given map[string]bool) {
	for i := range table {
		o := &table[i]
		short, _ := utf8.DecodeRuneInString(o.Flag.Short)
		if o.Flag.Short == "" {
			short = 0
		}
		value := &kong.Value{
			Name: o.Flag.Name, Help: o.Flag.Help, Default: o.First(true),
			HasDefault: o.First(true) != "", Mapper: optionValue{o, given}, Tag: &kong.Tag{Sep: -1},
			Target: reflect.ValueOf(o.Value).Elem(),
		}
		value.Flag = &kong.Flag{Value: value, Short: short, PlaceHolder: o.Flag.Holder,
			Aliases: o.Flag.Aliases, Group: &kong.Group{Key: o.Flag.Group, Title: o.Flag.Group}}
		n.Flags = append(n.Flags, value.Flag)
	}
}

// An optionValue reads a value of an option.
type optionValue struct {
	*option.Option
	given map[string]bool
}

func (v optionValue) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := ctx.Scan.PopValueInto("value", &text); err != nil {
		return err
	}
	v.given[v.Flag.Name] = true
	err := v.Set(text)
	target.Set(reflect.ValueOf(v.Value).Elem())
	var wrong *option.Error
	if errors.As(err, &wrong) {
		return errors.New(strings.TrimPrefix(wrong.Rest, ": "))
	}
	return err
}
