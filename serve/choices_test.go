package serve_test

// The choices of an answer: n, best_of, stops and echoes.

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"picogpt/decode"
	"picogpt/dev/cases"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/serve"
	"picogpt/tokenizer"
)

func TestBestOfSendsTheLikeliest(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	type text struct {
		text string
		mean float64
	}
	var want []text
	drawn := 0
	for seed := range uint64(5) { // seed … seed + best_of − 1
		text := text{}
		var tokens []decode.Token
		text.text, tokens = direct(
			t,
			m,
			"Sam",
			decode.Options{MaxTokens: 9, Params: sample.Params{Temperature: 1, Seed: 40 + seed}},
		)
		for _, token := range tokens {
			text.mean += token.LogProb / float64(len(tokens))
		}
		want = append(want, text)
		drawn += len(tokens)
	}
	slices.SortStableFunc(want, func(a, b text) int { return int(math.Copysign(1, b.mean-a.mean)) })
	a := c.complete(`{"prompt":"Sam","max_tokens":9,"n":2,"best_of":5,"seed":40}`)
	if len(a.Choices) != 2 || a.Usage.CompletionTokens != drawn {
		t.Fatalf(
			"%d choices of %d tokens, want 2 of %d",
			len(a.Choices),
			a.Usage.CompletionTokens,
			drawn,
		)
	}
	for i, choice := range a.Choices {
		if choice.Text != want[i].text || choice.Index != i {
			t.Errorf("choice %d is %d, %q, want %q", i, choice.Index, choice.Text, want[i].text)
		}
	}
	// HELM sends best_of 1
	if a := c.complete(
		`{"prompt":"Sam","best_of":1,"logprobs":1,"stop":null}`,
	); len(
		a.Choices,
	) != 1 {
		t.Errorf("%d choices", len(a.Choices))
	}
}

func TestStopsAreCutAndNamed(t *testing.T) {
	c := start(t, serve.Options{})
	const prompt = `"prompt":"Once upon a time","temperature":0,"max_tokens":60`
	full := c.complete("{" + prompt + "}").Choices[0].Text
	six := `"stop":["qqqq","\nclass","\ndef","\n#","\nif",` // HumanEval's six
	for _, stop := range []string{"girl", " l", "e wa"} {
		at := strings.Index(full, stop)
		if at < 0 {
			t.Fatalf("no %q in %q", stop, full)
		}
		a := c.complete("{" + prompt + "," + six + `"` + stop + `"]}`).Choices[0]
		if a.Text != full[:at] || *a.FinishReason != "stop" || a.StopReason != stop {
			t.Errorf(
				"stop %q: %q, %s, %v, want %q",
				stop,
				a.Text,
				*a.FinishReason,
				a.StopReason,
				full[:at],
			)
		}
	}
	// an echoed prompt is not searched for stops
	a := c.complete("{" + prompt + `,"echo":true,"stop":"upon"}`).Choices[0]
	if a.Text != "Once upon a time"+full {
		t.Errorf("with an echo %q", a.Text)
	}
	a = c.complete("{" + prompt + `,"stop_token_ids":[13],"return_token_ids":true}`).Choices[0]
	if n := len(a.TokenIDs); a.TokenIDs[n-1] != 13 || a.StopReason != json.Number("13") ||
		strings.Contains(a.Text, ".") {
		t.Errorf("stop_token_ids: %+v", a)
	}
}

func TestEchoIsThePromptAsItCame(t *testing.T) {
	c := start(t, serve.Options{})
	for prompt, text := range map[string]string{
		`" a  b\n<|endoftext|>c"`: " a  b\n<|endoftext|>c", `[7454,2402]`: "Once upon",
		`"é"`: "é", `""`: "",
	} {
		for _, more := range []string{"", `,"logprobs":1`} {
			a := c.complete(`{"prompt":` + prompt + `,"echo":true,"max_tokens":0` + more + "}")
			if got := a.Choices[0]; got.Text != text || *got.FinishReason != "length" {
				t.Errorf("%s: %q, %s, want %q", prompt, got.Text, *got.FinishReason, text)
			}
			if a.Usage.CompletionTokens != 0 {
				t.Errorf("%s: %d new tokens, want none", prompt, a.Usage.CompletionTokens)
			}
		}
	}
	a := c.complete(`{"prompt":["Tom","Lily"],"n":2,"echo":true,"max_tokens":3,"seed":1}`)
	for i, choice := range a.Choices {
		if !strings.HasPrefix(choice.Text, []string{"Tom", "Lily"}[i/2]) {
			t.Errorf("choice %d: %q", i, choice.Text)
		}
	}
}

func TestOptionsAreDecodes(t *testing.T) {
	cases.NotShort(t)
	m := testmodel.Demo(t, model.Options{Threads: 1})
	c := startWith(t, m, serve.Options{})
	base := decode.Options{MaxTokens: 12, Params: sample.Params{Temperature: 1, Seed: 11}}
	var done sync.WaitGroup
	const prompt = "One day, a girl saw her. One day, a girl saw"
	plain, _ := direct(t, m, prompt, base)
	for fields, set := range map[string]func(o *decode.Options){
		`"temperature":0`:              func(o *decode.Options) { o.Temperature = 0 },
		`"temperature":1.5,"top_k":9`:  func(o *decode.Options) { o.Temperature, o.TopK = 1.5, 9 },
		`"top_p":0.5`:                  func(o *decode.Options) { o.TopP = 0.5 },
		`"top_p":0`:                    func(o *decode.Options) { o.TopP = math.SmallestNonzeroFloat64 },
		`"min_p":0.2`:                  func(o *decode.Options) { o.MinP = 0.2 },
		`"repetition_penalty":1.3`:     func(o *decode.Options) { o.RepeatPenalty = 1.3 },
		`"presence_penalty":1.5`:       func(o *decode.Options) { o.PresencePenalty = 1.5 },
		`"frequency_penalty":-1`:       func(o *decode.Options) { o.FrequencyPenalty = -1 },
		`"bad_words":[" ball"," her"]`: func(o *decode.Options) { o.Ban = []string{" ball", " her"} },
		`"logit_bias":{"257":-100,"11":4.5}`: func(o *decode.Options) {
			o.Bias = []sample.Bias{{IDs: []int{257}, Value: -100}, {IDs: []int{11}, Value: 4.5}}
		},
		`"sequence_bias":{" little girl":-100,",":4.5}`: func(o *decode.Options) {
			o.SequenceBias = []sample.Bias{{IDs: []int{1310, 2576}, Value: -100},
				{IDs: []int{11}, Value: 4.5}}
		},
		`"stop":"."`: func(o *decode.Options) { o.Stop = []string{"."} },
		`"min_tokens":12,"stop_token_ids":[13]`: func(o *decode.Options) {
			o.MinTokens, o.EndOfText = 12, []int{50256, 13}
		},
		`"typical_p":0.3`:       func(o *decode.Options) { o.Typical = 0.3 },
		`"typical_p":0`:         func(o *decode.Options) { o.Typical = math.SmallestNonzeroFloat64 },
		`"epsilon_cutoff":0.02`: func(o *decode.Options) { o.Epsilon = 0.02 },
		`"eta_cutoff":0.05`:     func(o *decode.Options) { o.Eta = 0.05 },
		`"top_h":0.4`:           func(o *decode.Options) { o.TopH = 0.4 },
		`"top_n_sigma":1`:       func(o *decode.Options) { o.TopNSigma = 1 },
		`"top_n_sigma":-1`:      func(o *decode.Options) {},
		`"xtc_probability":1`: func(o *decode.Options) {
			o.XTCProbability, o.XTCThreshold = 1, 0.1
		},
		`"xtc_probability":1,"xtc_threshold":0.05`: func(o *decode.Options) {
			o.XTCProbability, o.XTCThreshold = 1, 0.05
		},
		`"dynatemp_range":0.8`: func(o *decode.Options) { o.TempRange, o.TempExponent = 0.8, 1 },
		`"dynatemp_range":0.8,"dynatemp_exponent":2`: func(o *decode.Options) {
			o.TempRange, o.TempExponent = 0.8, 2
		},
		`"mirostat":2`: func(o *decode.Options) {
			o.Mirostat = sample.Mirostat{Version: 2, Tau: 5, Eta: 0.1}
		},
		`"mirostat":1,"mirostat_tau":2,"mirostat_eta":0.5`: func(o *decode.Options) {
			o.Mirostat = sample.Mirostat{Version: 1, Tau: 2, Eta: 0.5}
		},
		`"no_repeat_ngram_size":1`: func(o *decode.Options) { o.NoRepeatNgram = 1 },
		`"dry_multiplier":5,"dry_allowed_length":0`: func(o *decode.Options) {
			o.DRY = sample.DRY{Multiplier: 5, Base: 1.75, Breakers: breakers(t, "\n", ":", `"`, "*")}
		},
		`"dry_multiplier":5,"dry_base":3,"dry_allowed_length":1,"dry_penalty_last_n":30,` +
			`"dry_sequence_breakers":[" dog"]`: func(o *decode.Options) {
			o.DRY = sample.DRY{Multiplier: 5, Base: 3, AllowedLength: 1, LastN: 30,
				Breakers: breakers(t, " dog")}
		},
		`"dry_multiplier":5,"dry_penalty_last_n":0`: func(o *decode.Options) {},
		`"seed":-3`:                   func(o *decode.Options) { o.Seed = math.MaxUint64 - 2 },
		`"seed":18446744073709551615`: func(o *decode.Options) { o.Seed = math.MaxUint64 },
	} {
		o := base
		set(&o)
		want, _ := direct(t, m, prompt, o)
		if off := fields == `"top_n_sigma":-1` || strings.HasSuffix(fields, `last_n":0`); (want == plain) != off {
			t.Errorf("%s: %q, without it %q", fields, want, plain)
		}
		if !strings.Contains(fields, "seed") {
			fields = `"seed":11,` + fields
		}
		done.Go(func() { // beside the others: a pass for several costs less
			a := c.complete(bodyOf(prompt, `"max_tokens":12,`+fields))
			if got := a.Choices[0].Text; got != want {
				t.Errorf("%s: %q, want %q", fields, got, want)
			}
		})
	}
	done.Wait()
}

// breakers returns the DRY breakers of texts, as GPT-2's tokens.
func breakers(t *testing.T, texts ...string) (all [][]int) {
	t.Helper()
	for _, text := range texts {
		ids, err := sample.DRYBreakers(tokenizer.GPT2(), text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, ids...)
	}
	return all
}

func TestWithoutASeedOneIsDrawnAndTold(t *testing.T) {
	c := start(t, serve.Options{})
	r, text := c.post("/v1/completions", `{"prompt":"Lily","max_tokens":12}`)
	seed := r.Header.Get("X-Seed")
	if seed == "" {
		t.Fatal("no X-Seed")
	}
	want := decoded[answer](t, text).Choices[0].Text
	if got := c.complete(`{"prompt":"Lily","max_tokens":12,"seed":` + seed + "}").Choices[0].Text; got != want {
		t.Errorf("seed %s gives %q, want %q", seed, got, want)
	}
	again, _ := c.post("/v1/completions", `{"prompt":"Lily","max_tokens":1}`)
	if again.Header.Get("X-Seed") == seed {
		t.Errorf("the same seed %s twice", seed)
	}
}

// TestFormsAreFollowed: forms of all kinds; objects are closed, and open where the request says so.
func TestFormsAreFollowed(t *testing.T) {
	cases.NotShort(t)
	c := start(t, serve.Options{})
	const ofA = `{"type":"object","properties":{"a":{"const":1}},"minProperties":1}`
	for fields, check := range map[string]func(text string) bool{
		`"structured_outputs":{"choice":["yes","no"]}`:                                func(s string) bool { return s == "yes" || s == "no" },
		`"guided_choice":["red","blue"]`:                                              func(s string) bool { return s == "red" || s == "blue" },
		`"structured_outputs":{"regex":"[0-9]{4}"}`:                                   func(s string) bool { return len(s) == 4 },
		`"guided_grammar":"root ::= \"a\" \"b\"*"`:                                    func(s string) bool { return strings.Trim(s, "b") == "a" },
		`"structured_outputs":{"json":{"type":"integer","minimum":5,"maximum":7}}`:    func(s string) bool { return s >= "5" && s <= "7" },
		`"guided_json":"{\"const\":\"x\"}"`:                                           func(s string) bool { return s == `"x"` },
		`"response_format":{"type":"json_object"},"max_tokens":200,"temperature":0.5`: func(s string) bool { return strings.HasPrefix(s, "{") },
		`"response_format":{"type":"structural_tag","format":{"type":"tag","begin":"[","end":"]","content":{"type":
			"json_schema","json_schema":{"enum":[1]}}}}`: func(s string) bool { return s == "[1]" },
		`"structured_outputs":{"structural_tag":"{\"type\":\"structural_tag\",\"triggers\":[\"a\"],\"structures\":[` +
			`{\"begin\":\"ab\",\"schema\":{\"enum\":[1]},\"end\":\"c\"}]}"},"max_tokens":40`: func(s string) bool {
			return strings.Count(s, "a") == strings.Count(s, "ab1c")
		},
		`"structured_outputs":{"grammar":"root ::= \"x\" %json {\"enum\":[[1]]} %regex /y/"}`: func(s string) bool {
			return s == "x[1]y"
		},
		`"response_format":{"type":"json_schema","json_schema":{"name":"n","strict":true,"schema":{"enum":[1]}}}`: func(s string) bool { return s == "1" },

		`"guided_json":` + ofA: func(s string) bool { return s == `{"a":1}` || s == `{"a": 1}` },
		`"temperature":2,"json_open":true,"max_tokens":3,"may_cut":true,"response_format":{"type":"json_schema","json_schema":{"schema":` + ofA + `}}`: func(s string) bool {
			return !strings.HasPrefix(s, `{"a"`)
		},
	} {
		if !strings.Contains(fields, "max_tokens") {
			fields += `,"max_tokens":40`
		}
		for seed := range 3 {
			a := c.complete(bodyOf("Answer: ", fmt.Sprintf(`"seed":%d,`, seed)+fields)).Choices[0]
			if !check(a.Text) {
				t.Errorf("%s: %q", fields, a.Text)
			}
		}
	}
}
