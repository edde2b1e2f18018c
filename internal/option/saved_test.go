package option_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"picogpt/decode"
	"picogpt/internal/option"
	"picogpt/model"
	"picogpt/sample"
)

// read reads a generation_config.json for 100 ids, of which 9 ends texts.
func read(t *testing.T, file string) ([]string, error) {
	t.Helper()
	g, _, err := model.ParseGeneration([]byte(file), 100)
	if err != nil {
		t.Fatalf("%.60s: %v", file, err)
	}
	return option.TakeSaved(option.Of(new(decode.Options)), g.Sampling, 100, []int{9}, nil)
}

// TestSavedFields: what each field of a generation_config.json is as a flag, "" where it says what
// transformers does without it.
func TestSavedFields(t *testing.T) {
	for _, c := range []struct{ file, flags string }{
		{`{}`, ""},
		{`{"eos_token_id": 50256, "_from_model_config": true, "transformers_version": "4.26.0"}`, ""},
		{`{"temperature": 1.0, "top_k": 50, "top_p": 1.0, "typical_p": 1.0, "epsilon_cutoff": 0.0,
			"eta_cutoff": 0.0, "repetition_penalty": 1.0, "no_repeat_ngram_size": 0, "min_p": 0,
			"min_new_tokens": 0, "num_beams": 1}`, ""},
		{`{"temperature": null, "top_k": null, "do_sample": null, "suppress_tokens": null,
			"begin_suppress_tokens": [ ], "bad_words_ids": [], "max_new_tokens": null}`, ""},
		{`{"do_sample": true}`, ""},
		{`{"do_sample": false}`, "--temp=0"},
		{`{"do_sample": false, "temperature": 0.7, "top_p": 0.9}`, "--temp=0 --top-p=0.9"},
		{`{"temperature": 0}`, "--temp=0"},
		{`{"temperature": 0.7, "do_sample": true}`, "--temp=0.7"},
		{`{"temperature": 7e-1}`, "--temp=7e-1"},
		{`{"top_k": 0}`, "--top-k=0"},
		{`{"top_k": 5}`, "--top-k=5"},
		{`{"top_p": 0.0}`, "--top-p=0.0"},
		{`{"min_p": 0.05}`, "--min-p=0.05"},
		{`{"typical_p": 0.9}`, "--typical=0.9"},
		{`{"epsilon_cutoff": 3e-4}`, "--epsilon=3e-4"},
		{`{"eta_cutoff": 0.002}`, "--eta=0.002"},
		{`{"repetition_penalty": 1.3}`, "--repeat-penalty=1.3"},
		{`{"no_repeat_ngram_size": 3}`, "--no-repeat-ngram=3"},
		{`{"min_new_tokens": 5}`, "--min-tokens=5"},
		{`{"max_new_tokens": 5}`, "--max-tokens=5"},
		{`{"max_new_tokens": -1}`, ""},
		{`{"suppress_tokens": [3, 100, -1, 4]}`, "--ban-ids=3 4"},
		{`{"suppress_tokens": [100]}`, ""},
		{`{"begin_suppress_tokens": [3, 9]}`, "--ban-ids=^3 ^9"},
		{`{"bad_words_ids": [[3], [9], [4, 9], [5, 6, 7]]}`, "--ban-ids=3 4,9 5,6,7"},
		{`{"bad_words_ids": [[9]]}`, ""},
	} {
		flags, err := read(t, c.file)
		if got := strings.Join(flags, " "); err != nil || got != c.flags {
			t.Errorf("%s: %s, %v; want %s", c.file, got, err, c.flags)
		}
	}
}

// TestSavedFieldsThatCannotBeMeant: errors in one line that name the file and the field.
func TestSavedFieldsThatCannotBeMeant(t *testing.T) {
	many := strings.Repeat("[1],", 1<<16)
	for _, c := range []struct{ field, rest string }{
		{`"temperature": "hot"`, `: want a number, found "hot"`},
		{`"temperature": NaN`, `: want a number, found "NaN"`},
		{`"temperature": [0.7]`, `: want a number, found [0.7]`},
		{`"temperature": true`, `: want a number, found true`},
		{`"temperature": -0.5`, ` -0.5: want 0 (greedy) or a finite number above it`},
		{`"temperature": 1e999`, `: want a number, found "1e999"`},
		{`"temperature": 0.0, "do_sample": true`, ` 0 with do_sample true: want more than 0`},
		{`"temperature": 0.` + strings.Repeat("1", 99999), `: want a number, found 0.1111`},
		{`"do_sample": "yes"`, `: want true or false, found "yes"`},
		{`"do_sample": 1`, `: want true or false, found 1`},
		{`"top_k": -1`, ` -1: want 0 (off) or more`},
		{`"top_k": 2.5`, `: want a whole number, found "2.5"`},
		{`"top_k": 99999999999999999999`, `: want a whole number, found "9999`},
		{`"top_p": 1.1`, ` 1.1: want a number from 0 to 1 (off)`},
		{`"min_p": -1`, ` -1: want a number from 0 (off) to 1`},
		{`"typical_p": 2`, ` 2: want a number from 0 to 1`},
		{`"epsilon_cutoff": 1.0`, ` 1: want a number from 0 (off) to below 1`},
		{`"eta_cutoff": 9`, ` 9: want a number from 0 (off) to below 1`},
		{`"repetition_penalty": 0`, ` 0: want a number above 0`},
		{`"no_repeat_ngram_size": -2`, ` -2: want 0 (off) or more`},
		{`"min_new_tokens": -2`, ` -2: want 0 (off) or more`},
		{`"max_new_tokens": 0`, ` 0: want at least 1, or -1 for no limit`},
		{`"suppress_tokens": 5`, `: want a list of ids, found 5`},
		{`"suppress_tokens": [1.5]`, `: want a list of ids, found [1.5]`},
		{`"begin_suppress_tokens": {"a": 1}`, `: want a list of ids, found {"a": 1}`},
		{`"bad_words_ids": [5]`, `: want a list of lists of ids, found [5]`},
		{`"bad_words_ids": [[5], []]`, `: want at least one id in each list, found none`},
		{`"bad_words_ids": [[5, 100]]`, `: id 100: want 0 to 99`},
		{`"bad_words_ids": [[-1]]`, `: id -1: want 0 to 99`},
		{`"bad_words_ids": [` + many + `[1]]`, `: want at most 65536 ids in all lists, found more`},
		{`"suppress_tokens": [` + strings.ReplaceAll(many, "[1]", "1") + `1]`,
			`: want at most 65536 ids in all lists, found more`},
	} {
		_, err := read(t, "{"+c.field+"}")
		name := strings.Split(c.field, `"`)[1]
		want := "generation_config.json: " + name + c.rest
		if err == nil || !strings.HasPrefix(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.60s: %v, want %s", c.field, err, want)
		}
	}
}

// TestSavedNamesAreTheModels: package model takes from the file the fields that options have.
func TestSavedNamesAreTheModels(t *testing.T) {
	ours := map[string]bool{}
	for _, o := range option.Of(new(decode.Options)) {
		for _, name := range o.Saved {
			if ours[name] || o.Flag.Name == "" {
				t.Errorf("%s stands twice, or has no flag", name)
			}
			ours[name] = true
		}
	}
	// every field of transformers' GenerationConfig 5.24, as it is written
	known := map[string]any{"max_length": 7, "max_new_tokens": 7, "min_length": 7, "min_new_tokens": 7,
		"early_stopping": 7, "max_time": 7, "stop_strings": 7, "do_sample": 7, "num_beams": 7,
		"use_cache": 7, "cache_implementation": 7, "temperature": 7, "top_k": 7, "top_p": 7, "min_p": 7,
		"top_h": 7, "typical_p": 7, "epsilon_cutoff": 7, "eta_cutoff": 7, "repetition_penalty": 7,
		"encoder_repetition_penalty": 7, "length_penalty": 7, "no_repeat_ngram_size": 7,
		"bad_words_ids": 7, "renormalize_logits": 7, "forced_bos_token_id": 7,
		"forced_eos_token_id": 7, "remove_invalid_values": 7, "exponential_decay_length_penalty": 7,
		"suppress_tokens": 7, "begin_suppress_tokens": 7, "sequence_bias": 7, "token_healing": 7,
		"guidance_scale": 7, "watermarking_config": 7, "num_return_sequences": 7,
		"output_attentions": 7, "pad_token_id": 7, "bos_token_id": 7, "eos_token_id": 7}
	file, _ := json.Marshal(known)
	g, _, err := model.ParseGeneration(file, 100)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(g.Sampling)), slices.Sorted(maps.Keys(ours)); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTakenValues: they mean what flags mean, and say where they come from.
func TestTakenValues(t *testing.T) {
	for _, c := range []struct {
		flags []string
		want  decode.Options
	}{
		{[]string{"--temp=0.5", "--top-k=7"}, decode.Options{Params: sample.Params{Temperature: 0.5, TopK: 7}}},
		{[]string{"--top-p=0"}, decode.Options{Params: sample.Params{TopP: math.SmallestNonzeroFloat64}}},
		{[]string{"--max-tokens=-1"}, decode.Options{Unasked: true}},
		{[]string{"--max-tokens=9"}, decode.Options{MaxTokens: 9, Unasked: true}},
		{[]string{"--ban-ids=^5 7", "--ban-ids=1,2"}, decode.Options{Params: sample.Params{BanIDs: []sample.Ban{
			{IDs: []int{5}, First: true}, {IDs: []int{7}}, {IDs: []int{1, 2}}}}}},
	} {
		var o decode.Options
		if err := option.SetSaved(option.Of(&o), c.flags); err != nil || !reflect.DeepEqual(o, c.want) {
			t.Errorf("%q: %+v, %v, want %+v", c.flags, o, err, c.want)
		}
	}
	for _, flag := range []string{"", "--", "--temp", "temp", "--seed=5", "--no=5", "--temp=x", "--temp=-1",
		"--ban-ids=", "--ban-ids=^", "--ban-ids=1,", "--ban-ids=-1", "--max-tokens=0"} {
		if err := option.SetSaved(option.Of(new(decode.Options)), []string{flag}); err == nil {
			t.Errorf("%q is taken", flag)
		}
	}
}

func TestTellSaved(t *testing.T) {
	all, err := read(t, fmt.Sprintf(`{"top_p": 0.9, "suppress_tokens": [%s1]}`, strings.Repeat("2, ", 99)))
	want := "--top-p=0.9 --ban-ids=" + strings.Repeat("2 ", 89) + "... from generation_config.json; " +
		"--generation-config none leaves them"
	if got := option.TellSaved(all); err != nil || got != want {
		t.Errorf("%s, %v, want %s", got, err, want)
	}
}
