package genflags

// What the flags mean, and which of them are refused. The testscripts of gpt generate show the
// rest.

import (
	"errors"
	"math"
	"reflect"
	"testing"

	"picogpt/decode"
	"picogpt/sample"
)

func TestWhatTheFlagsMean(t *testing.T) {
	eight, none := 8, 0
	usual := Usual{Overflow: "slide", Samples: 2, Temp: 0.5, TopK: 3, TopP: 0.25, MinP: 0.125,
		RepeatPenalty: 1.5, RepeatLastN: 7, Stop: []string{"."}, MaxTokens: &eight}
	with := func(change func(*Usual)) Usual {
		u := usual
		change(&u)
		return u
	}
	means := decode.Options{Overflow: decode.OverflowSlide, Stop: []string{"."}, MaxTokens: 8,
		Params: sample.Params{Temperature: 0.5, TopK: 3, TopP: 0.25, MinP: 0.125,
			RepeatPenalty: 1.5, RepeatLastN: 7}}
	one := means
	one.TopP = math.SmallestNonzeroFloat64
	endless := means
	endless.MaxTokens = 0
	for _, c := range []struct {
		flags Usual
		want  decode.Options
		err   string
	}{
		{usual, means, ""},
		{with(func(u *Usual) { u.TopP = 0 }), one, ""},
		{with(func(u *Usual) { u.MaxTokens = nil }), endless, ""},
		{flags: with(func(u *Usual) { u.MaxTokens = &none }), err: "--max-tokens 0: want at least 1"},
		{flags: with(func(u *Usual) { u.Samples = 0 }), err: "--samples 0: want at least 1"},
		{flags: with(func(u *Usual) { u.Stop = []string{"a", ""} }),
			err: "--stop: want at least one byte, found none"},
		{flags: with(func(u *Usual) { u.RepeatPenalty = 0 }),
			err: "--repeat-penalty 0: want a number above 0, such as 1.1; 1 is off"},
		{flags: with(func(u *Usual) { u.Temp = -1 }),
			err: "--temp -1: want 0 (greedy) or a finite number above it"},
		{flags: with(func(u *Usual) { u.TopP = 2 }),
			err: "--top-p 2: want a number from 0 to 1 (off)"},
		{flags: with(func(u *Usual) { u.TopK = -1 }), err: "--top-k -1: want 0 (off) or more"},
		{flags: with(func(u *Usual) { u.RepeatLastN = -1 }),
			err: "--repeat-last-n -1: want 0 (the whole context) or more"},
	} {
		o, err := c.flags.Options()
		if err == nil {
			err = Check(o)
		}
		if c.err != "" {
			if err == nil || err.Error() != c.err {
				t.Errorf("%+v: %v, want %s", c.flags, err, c.err)
			}
		} else if err != nil || !reflect.DeepEqual(o, c.want) {
			t.Errorf("%+v: %+v, %v\nwant %+v", c.flags, o, err, c.want)
		}
	}
}

func TestNamed(t *testing.T) {
	for message, want := range map[string]string{
		"temperature range 7: want 0": "--dynatemp-range 7: want 0",
		"typical 3: want less":        "--typical 3: want less",
	} {
		if err := Named(errors.New(message)); err.Error() != want {
			t.Errorf("%s: %v, want %s", message, err, want)
		}
	}
	if err := Named(nil); err != nil {
		t.Error(err)
	}
}
