package option_test

// The table of all options: the properties of every row, and those that differ between rows.

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/internal/option"
)

// table returns all options, with the struct that they are bound to.
func table() (*decode.Options, []option.Option) {
	o, samples := &decode.Options{}, new(int)
	return o, append(option.Of(o), option.Samples(samples))
}

// unsaid holds the options without a flag, and why they have none.
var unsaid = map[string]string{
	"generated tokens": "gpt next has --new, gpt generate begins with none",
}

func TestEveryOptionIsSaid(t *testing.T) {
	_, all := table()
	groups := []string{option.HowMuch, option.WhichOnes, option.Filters, option.Repetition,
		option.Wanted, option.Searches, option.Guessing, option.Output}
	pageGroups := []string{"Completion", "Filters", "More filters", "End", "Repetition",
		"Words and tokens", "Display"}
	for _, o := range all {
		switch f := o.Flag; {
		case f.Name == "":
			if unsaid[o.Name] == "" {
				t.Errorf("%s: no flag, and no reason for it", o.Name)
			}
		case f.Help == "" || strings.HasSuffix(f.Help, "."):
			t.Errorf("--%s: want help without a full stop, found %q", f.Name, f.Help)
		case !slices.Contains(groups, f.Group):
			t.Errorf("--%s: of the group %q", f.Name, f.Group)
		case f.Holder == "" && !isBool(o.Value):
			t.Errorf("--%s: nothing stands for the value", f.Name)
		}
		for _, flag := range o.With {
			if option.Find(all, flag) == nil {
				t.Errorf("--%s wants --%s, which is not there", o.Flag.Name, flag)
			}
		}
		if s := o.Setting; s.Label != "" {
			if o.Field.Name == "" || s.Help == "" || !slices.Contains(pageGroups, s.Group) {
				t.Errorf("%s: a setting with the field %q, the help %q and the group %q", o.Name,
					o.Field.Name, s.Help, s.Group)
			}
		}
	}
}

// isBool reports whether a flag of the value needs no word for it.
func isBool(value any) bool {
	_, yesNo := value.(**bool)
	_, yes := value.(*bool)
	return yes || yesNo
}

func TestNoTwoOptionsShareAName(t *testing.T) {
	_, all := table()
	taken := map[string]string{}
	take := func(what, name, by string) {
		if name == "" {
			return
		}
		if other := taken[what+name]; other != "" {
			t.Errorf("%s %s is of %s and of %s", what, name, other, by)
		}
		taken[what+name] = by
	}
	for _, o := range all {
		take("option", o.Name, o.Name)
		take("flag", o.Flag.Name, o.Name)
		take("letter", o.Flag.Short, o.Name)
		take("field", o.Field.Name, o.Name)
		take("place", fmt.Sprintf("%p", o.Value), o.Name)
		for _, alias := range o.Flag.Aliases {
			take("flag", alias, o.Name)
		}
		for name := range strings.FieldsSeq(o.Flag.Others) {
			take("flag", name, o.Name)
		}
	}
}

// TestDefaultsAreTaken: the Go API, the command line, requests and the page accept them.
func TestDefaultsAreTaken(t *testing.T) {
	for _, usual := range []bool{false, true} {
		_, all := table()
		if err := option.SetDefaults(all, usual); err != nil {
			t.Fatal(err)
		}
		for i := range all {
			if o := &all[i]; !usual && o.Default != "" && o.On() {
				t.Errorf("%s: %s is not its default, %s", o.Name, o.String(), o.Default)
			}
		}
		given := func(flag string) bool { return option.Find(all, flag).First(usual) != "" }
		if err := option.CheckFlags(all, given); err != nil {
			t.Error(err)
		}
		option.Settle(all)
		if err := option.Check(all); err != nil {
			t.Error(err)
		}
	}
	_, all := table()
	for i := range all {
		o := &all[i]
		if o.Field.Default == "" {
			continue
		}
		if err := o.Set(o.Field.Default); err != nil || option.Check(all[i:i+1]) != nil {
			t.Errorf("%s: %s is no default of the field", o.Name, o.Field.Default)
		}
	}
}

// TestBoundsLieWithinBounds: the page's limits are within the API's, and the API's within Go's.
func TestBoundsLieWithinBounds(t *testing.T) {
	_, all := table()
	for i := range all {
		o := &all[i]
		switch o.Value.(type) {
		default:
			continue
		case *float64, *int:
		}
		if o.Field.Name == "" {
			continue
		}
		r := o.Field.Range
		if r == (option.Range{}) {
			r = o.Range
		}
		if r.To == 0 || math.IsInf(r.To, 0) || r.From > r.To {
			t.Errorf("%s: a request may have %v to %v, want bounds", o.Name, r.From, r.To)
		}
		if s := o.Setting; s.Label != "" && (s.Min < r.From || s.Max > r.To || s.Max <= s.Min ||
			s.Step <= 0 || s.Slider > s.Max || s.Slider < 0) {
			t.Errorf("%s: the page has %v to %v by %v (a slider to %v), a request %v to %v", o.Name,
				s.Min, s.Max, s.Step, s.Slider, r.From, r.To)
		}
		for _, x := range []float64{r.From, r.To} {
			if err := o.Set(strconv.FormatFloat(x, 'f', -1, 64)); err != nil {
				t.Error(err)
			}
			option.Settle(all[i : i+1])
			if err := option.Check(all[i : i+1]); err != nil {
				t.Errorf("%s: a request may have %v: %v", o.Name, x, err)
			}
		}
	}
}

// TestErrorsNameTheSurface: errors have Go's name of an option, or its flag.
func TestErrorsNameTheSurface(t *testing.T) {
	for _, c := range []struct {
		flag, value, inGo, byFlag string
	}{
		{"temp", "-1", "temperature -1: want 0 (greedy) or a finite number above it",
			"--temp -1: want 0 (greedy) or a finite number above it"},
		{"temp", "x", `temperature: want a number, found "x"`, `--temp: want a number, found "x"`},
		{"top-p", "NaN", "top-p NaN: want a number from 0 to 1 (off)",
			"--top-p NaN: want a number from 0 to 1 (off)"},
		{"repeat-penalty", "1e200", "repetition penalty 1e+200: want 0 or 1 (off) or another number " +
			"from 1e-100 to 1e100", "--repeat-penalty 1e+200: want a number above 0, such as 1.1; 1 is off"},
		{"repeat-penalty", "0", "", "--repeat-penalty 0: want a number above 0, such as 1.1; 1 is off"},
		{"max-tokens", "0", "", "--max-tokens 0: want at least 1, or -1 for no limit"},
		{"dry-last-n", "-2", "DRY window -2: want 0 (the whole context) or more",
			"--dry-last-n -2: want -1 (all), 0 (off) or more"},
		{"overflow", "x", `overflow "x": want "error", "truncate" or "slide"`,
			`--overflow: want error, truncate or slide, found "x"`},
		{"stop", "", "stop string 1 of 1: want at least one byte, found none",
			"--stop: want at least one byte, found none"},
		{"eos", "x", `end of text "x": want a token's id, or none`, `--eos "x": want a token's id, or none`},
		{"logit-bias", "x", `bias "x": want ID=X or TEXT=X, such as 257=-2.5, 257=-inf or ' Lily=5'`,
			`--logit-bias "x": want ID=X or TEXT=X, such as 257=-2.5, 257=-inf or ' Lily=5'`},
		{"sequence-bias", "5", `sequence bias "5": want TEXT=X, such as ' red apple=-5' or ' red apple=-inf'`,
			`--sequence-bias "5": want TEXT=X, such as ' red apple=-5' or ' red apple=-inf'`},
		{"samplers", "a", "", ""},
	} {
		_, all := table()
		o := option.Find(all, c.flag)
		inGo := o.Set(c.value)
		byFlag := option.ByFlag(inGo)
		if inGo == nil {
			inGo = option.Check([]option.Option{*o})
			byFlag = option.ByFlag(option.CheckFlags(all, func(name string) bool { return name == c.flag }))
		}
		if c.flag == "samplers" {
			want := regexp.MustCompile(`^samplers: "a" is none, want hf, llama.cpp or a list of `)
			if inGo == nil || !want.MatchString(inGo.Error()) {
				t.Errorf("samplers: %v", inGo)
			}
			continue
		}
		if text(inGo) != c.inGo || text(byFlag) != c.byFlag {
			t.Errorf("--%s %s:\n%s\n%s\nwant\n%s\n%s", c.flag, c.value, text(inGo), text(byFlag), c.inGo,
				c.byFlag)
		}
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestFlagsThatNeedOthers(t *testing.T) {
	_, all := table()
	var found []string
	given := map[string]bool{"mirostat-tau": true, "repeat-last-n": true, "dry-base": true,
		"dry-multiplier": true, "temp": true}
	option.Wanting(all, func(flag string) bool { return given[flag] }, func(flag, want string) {
		found = append(found, flag+" wants "+want)
	})
	want := []string{"--mirostat-tau wants --mirostat 1|2", "--repeat-last-n wants --repeat-penalty, " +
		"--frequency-penalty or --presence-penalty"}
	if !slices.Equal(found, want) {
		t.Errorf("%q, want %q", found, want)
	}
}

// TestWhatAPersonWrites has another meaning in Go: 0 of --top-p, and -1 of --dry-last-n.
func TestWhatAPersonWrites(t *testing.T) {
	for flag, means := range map[string]func(*decode.Options) bool{
		"top-p 0":        func(o *decode.Options) bool { return o.TopP == math.SmallestNonzeroFloat64 },
		"typical 0":      func(o *decode.Options) bool { return o.Typical == math.SmallestNonzeroFloat64 },
		"top-p 0.5":      func(o *decode.Options) bool { return o.TopP == 0.5 },
		"top-k -1":       func(o *decode.Options) bool { return o.TopK == 0 },
		"top-n-sigma -1": func(o *decode.Options) bool { return o.TopNSigma == 0 },
		"dry-last-n -1":  func(o *decode.Options) bool { return o.DRY.LastN == 0 && o.DRY.Multiplier == 2 },
		"dry-last-n 0":   func(o *decode.Options) bool { return o.DRY.Multiplier == 0 },
		"dry-last-n 7":   func(o *decode.Options) bool { return o.DRY.LastN == 7 && o.DRY.Multiplier == 2 },
		"eos none":       func(o *decode.Options) bool { return o.EndOfText != nil && len(o.EndOfText) == 0 },
		"dry-breaker none": func(o *decode.Options) bool {
			return o.DRYBreakers != nil && len(o.DRYBreakers) == 0
		},
	} {
		o, all := table()
		option.SetDefaults(all, false)
		o.DRY.Multiplier = 2
		name, value, _ := strings.Cut(flag, " ")
		if err := option.Find(all, name).Set(value); err != nil {
			t.Error(err)
		}
		if strings.HasPrefix(flag, "dry-breaker") {
			option.CheckFlags(all, func(flag string) bool { return flag == name })
		}
		if option.Settle(all); !means(o) {
			t.Errorf("--%s: %+v", flag, o.Params)
		}
	}
}
