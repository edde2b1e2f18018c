package model

import (
	"fmt"
	"strings"
	"testing"
)

// TestGenerationConfigs: what transformers 5.24 has in model.generation_config of these files, for
// a model of 100 ids whose config.json has bos_token_id 12 and eos_token_id 14.
func TestGenerationConfigs(t *testing.T) {
	for _, c := range []struct{ json, want, others string }{
		{`{}`, "bos 12 eos []", ""},
		{`{"eos_token_id": 13}`, "bos 12 eos [13]", ""},
		{`{"eos_token_id": [13, 56], "bos_token_id": 1}`, "bos 1 eos [13 56]", ""},
		{`{"eos_token_id": 13.0}`, "bos 12 eos [13]", ""},
		{`{"eos_token_id": null, "bos_token_id": null}`, "bos 12 eos []", ""},
		{`{"eos_token_id": []}`, "bos 12 eos []", ""},
		{`{"eos_token_id": [600, 13, -1]}`, "bos 12 eos [13]", ""},
		{`{"eos_token_id": 600, "bos_token_id": 600}`, "bos 12 eos []", ""},
		{`{"_from_model_config": true, "eos_token_id": 13, "transformers_version": "5.24.0"}`,
			"bos 12 eos [13]", ""},
		{`{"eos_token_id": 13, "temperature": 0.7, "top_k": 50, "top_p": 1.0, "do_sample": true}`,
			"bos 12 eos [13] map[do_sample:true temperature:0.7]", ""},
		{`{"eos_token_id": 13, "do_sample": false, "suppress_tokens": [ ], "top_k": null, "top_p": 1}`,
			"bos 12 eos [13] map[do_sample:false]", ""},
		{`{"eos_token_id": 13, "top_k": 0, "temperature": "hot", "bad_words_ids": [[1], [2, 300]]}`,
			`bos 12 eos [13] map[bad_words_ids:[[1], [2, 300]] temperature:"hot" top_k:0]`, ""},
		{`{"eos_token_id": 13, "foo": 3, "bar": {}, "baz": [ ], "qux": null, "off": false}`,
			"bos 12 eos [13]", "foo 3 (unknown)"},
		{`{"eos_token_id": 13, "sequence_bias": [[[1, 2], -10.0], [[3, 4], 5]]}`, "bos 12 eos [13]",
			"sequence_bias"},
		{`{"eos_token_id": 13, "max_time": Infinity, "x": "a\"NaN", "sequence_bias": [[[1], -Infinity]]}`,
			"bos 12 eos [13]", `max_time "Infinity", x "a\"NaN" (unknown), sequence_bias [[[1], "-Infinity"]]`},
	} {
		bos := 12
		config := Config{VocabSize: 100, BOSTokenID: &bos, EOSTokenIDs: []int{14}}
		g, others, err := ParseGeneration([]byte(c.json), config.VocabSize)
		if err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		config.Generation = g
		start, _ := config.StartToken()
		got := fmt.Sprint("bos ", start, " eos ", config.EndTokens())
		if len(g.Sampling) > 0 {
			got += fmt.Sprintf(" %s", g.Sampling)
		}
		if got != c.want || strings.Join(others, ", ") != c.others {
			t.Errorf("%s: %s, others %q; want %s, %q", c.json, got, others, c.want, c.others)
		}
	}
}

// TestStartsOfTextsStay: texts without a bos_token_id begin with config.json's end token, as they
// were trained, whatever ends the texts that are made.
func TestStartsOfTextsStay(t *testing.T) {
	for _, c := range []struct {
		ends, made []int
		want       int
	}{{[]int{56}, []int{13, 56}, 56}, {nil, []int{13, 56}, 13}, {[]int{200}, []int{7}, 7}} {
		config := Config{VocabSize: 100, EOSTokenIDs: c.ends,
			Generation: Generation{EOSTokenIDs: c.made}}
		if id, ok := config.StartToken(); !ok || id != c.want {
			t.Errorf("ends %v and %v: start %d, %t; want %d", c.ends, c.made, id, ok, c.want)
		}
	}
}

func TestBrokenGenerationConfigs(t *testing.T) {
	for _, c := range []struct{ json, want string }{
		{``, "EOF"}, {`{"eos_token_id": 13`, "EOF"}, {`[]`, "object"}, {`null`, "object"},
		{`{"eos_token_id": "13"}`, `eos_token_id: "13", want an integer`},
		{`{"eos_token_id": true}`, "eos_token_id: true, want an integer"},
		{`{"eos_token_id": [13, null]}`, "eos_token_id: null, want an integer"},
		{`{"bos_token_id": 1.5}`, "bos_token_id: 1.5, want an integer"},
		{`{"eos_token_id": 13, "eos_token_id": 14}`, "eos_token_id"},
		{`{"a": "` + strings.Repeat("x", maxConfig) + `"}`, "bytes, want at most"},
	} {
		_, _, err := ParseGeneration([]byte(c.json), 100)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.40s: %v, want %q", c.json, err, c.want)
		}
	}
}

// TestLegacyGeneration: without a generation_config.json the library reads config.json, at the top
// only: what is in task_specific_params is for its pipelines.
func TestLegacyGeneration(t *testing.T) {
	others := LegacyGeneration([]byte(`{"n_embd": 3, "max_length": 50, "num_beams": 1, "top_k": 50,
		"do_sample": true, "task_specific_params": {"text-generation": {"temperature": 2}}}`))
	if got := strings.Join(others, ", "); got != "max_length 50, do_sample true" {
		t.Errorf("others %q", got)
	}
}
