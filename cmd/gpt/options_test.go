package main

// Each option by its flag, on every surface that has it: what comes out is what the table says.

import (
	"reflect"
	"testing"

	"picogpt/internal/cli"
	"picogpt/internal/option"
)

// written are values of options that one text cannot be made up for.
var written = map[string]string{
	"overflow": "truncate", "early-stopping": "never", "penalty-prompt": "true", "samplers": "top-k",
	"logit-bias": "257=2.5", "sequence-bias": " red apple=-5", "length-decay": "20,1.1", "eos": "7", "ban-ids": "5,7 ^9", "guidance": "1.5", "mirostat": "2",
}

// valueOf is a value of an option that is not its default.
func valueOf(o *option.Option) string {
	if value := written[o.Flag.Name]; value != "" {
		return value
	}
	switch o.Value.(type) {
	case *float64, **float64:
		return "0.25"
	case *int, *uint64, *[]int:
		return "3"
	case *bool:
		return "true"
	}
	return "word"
}

func TestAFlagIsAnOption(t *testing.T) {
	all := new(generateCommand).table()
	for i := range all {
		flag := all[i].Flag.Name
		if flag == "" {
			continue
		}
		value := valueOf(&all[i])
		want := new(generateCommand)
		table := want.table()
		if err := option.SetDefaults(table, true); err != nil {
			t.Fatal(err)
		}
		if err := table[i].Set(value); err != nil {
			t.Errorf("--%s %s: %v", flag, value, err)
		}
		got := new(generateCommand)
		f := cli.NewFlags(got.flags)
		if err := f.SetOption("--" + flag + "=" + value); err != nil {
			t.Errorf("--%s %s: %v", flag, value, err)
		}
		if flag != "seed" {
			want.Seed = got.Seed
		}
		if !reflect.DeepEqual(got.Options, want.Options) || got.Samples != want.Samples ||
			!reflect.DeepEqual(got.Search, want.Search) {
			t.Errorf("--%s %s gives %+v %+v, want %+v %+v", flag, value, got.Options, got.Search,
				want.Options, want.Search)
		}
		if got.table()[i].String() == got.table()[i].First(true) {
			t.Errorf("--%s %s changes nothing", flag, value)
		}
	}
}

// TestSurfacesHaveTheirOptions: gpt next and gpt chat have the flags of the table that say so, and
// no others of it.
func TestSurfacesHaveTheirOptions(t *testing.T) {
	surfaces := map[string]option.Surfaces{"next": option.Next, "chat": option.Chat}
	root := commands(newApp())
	for _, c := range root.Commands {
		in, ok := surfaces[c.Name]
		if !ok {
			continue
		}
		for _, o := range new(generateCommand).table() {
			if o.Flag.Name == "" {
				continue
			}
			f := c.Own().Find(o.Flag.Name)
			if has := f != nil; has != (o.In&in != 0) {
				t.Errorf("gpt %s: --%s: %v", c.Name, o.Flag.Name, has)
			}
			if f != nil && f.Name != "max-tokens" && f.Name != "seed" &&
				(f.Help != o.Flag.Help || f.Group != o.Flag.Group) {
				t.Errorf("gpt %s: --%s: %q in %q", c.Name, f.Name, f.Help, f.Group)
			}
		}
		delete(surfaces, c.Name)
	}
	if len(surfaces) > 0 {
		t.Errorf("no commands %v", surfaces)
	}
}
