package checkpoint_test

// Which modules an adapter_config.json names: what PEFT 0.21 makes of the same configs.

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/weights"
)

// everyModule is an adapter of all layers of a model, and the folder of that model.
func everyModule(t *testing.T) (base string, l *lora) {
	base, l = write(t, fixture.Options{Layer: 3}, nil), newLora(1, 2, weights.F32)
	for _, h := range []string{"transformer.h.0.", "transformer.h.1.", "transformer.h.2."} {
		l.pair(h+"attn.c_attn", 1, 15, 45)
		l.pair(h+"attn.c_proj", 1, 15, 15)
		l.pair(h+"mlp.c_fc", 1, 15, 60)
		l.pair(h+"mlp.c_proj", 1, 60, 15)
	}
	return base, l
}

// opensAdapter opens a base with an adapter whose config has more members.
func opensAdapter(t *testing.T, base string, l *lora, members string) (*checkpoint.Checkpoint, error) {
	t.Helper()
	config := `{"peft_type": "LORA", "r": 1, "lora_alpha": 2, ` + members + `}`
	folder := l.write(t)
	if err := os.WriteFile(folder+"/adapter_config.json", []byte(config), 0o666); err != nil {
		t.Fatal(err)
	}
	c, err := checkpoint.Open(base, checkpoint.Options{Adapters: []checkpoint.Adapter{{Path: folder}}})
	if err == nil {
		t.Cleanup(func() { c.Close() })
	}
	return c, err
}

func TestModulesThatAConfigNames(t *testing.T) {
	base, l := everyModule(t)
	before, err := checkpoint.Open(base, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer before.Close()
	const (
		all   = `"target_modules": ["c_attn", "c_proj", "c_fc"]`
		every = "0.attn.c_attn 0.attn.c_proj 0.mlp.c_fc 0.mlp.c_proj 1.attn.c_attn 1.attn.c_proj " +
			"1.mlp.c_fc 1.mlp.c_proj 2.attn.c_attn 2.attn.c_proj 2.mlp.c_fc 2.mlp.c_proj"
		first  = "0.attn.c_attn 0.attn.c_proj 0.mlp.c_fc 0.mlp.c_proj"
		second = "1.attn.c_attn 1.attn.c_proj 1.mlp.c_fc 1.mlp.c_proj"
		third  = "2.attn.c_attn 2.attn.c_proj 2.mlp.c_fc 2.mlp.c_proj"
		ours   = "0.attn.c_attn 1.attn.c_attn 2.attn.c_attn"
	)
	for members, want := range map[string]string{
		all:                                                 every,
		`"target_modules": ["c_fc"]`:                        "0.mlp.c_fc 1.mlp.c_fc 2.mlp.c_fc",
		`"target_modules": null`:                            ours,
		`"task_type": "CAUSAL_LM"`:                          ours,
		`"target_modules": "all-linear"`:                    every,
		`"target_modules": "All-Linear"`:                    every,
		`"target_modules": ["mlp.c_proj"]`:                  "0.mlp.c_proj 1.mlp.c_proj 2.mlp.c_proj",
		`"target_modules": ["transformer.h.0.attn.c_attn"]`: "0.attn.c_attn",
		`"target_modules": "transformer\\.h\\.\\d{1,2}\\.mlp\\.c_(fc|proj)"`: "0.mlp.c_fc " +
			"0.mlp.c_proj 1.mlp.c_fc 1.mlp.c_proj 2.mlp.c_fc 2.mlp.c_proj",
		`"target_modules": "(?!.*mlp).*c_(attn|proj)"`: "0.attn.c_attn 0.attn.c_proj " +
			"1.attn.c_attn 1.attn.c_proj 2.attn.c_attn 2.attn.c_proj",
		`"target_modules": "^(?!.*\\.1\\.).*c_attn$"`:                        "0.attn.c_attn 2.attn.c_attn",
		`"target_modules": "(?=.*[12])(?!.*mlp)(?!.*[(2]).*proj"`:            "1.attn.c_proj",
		all + `, "layers_to_transform": [0, 2]`:                              first + " " + third,
		all + `, "layers_to_transform": 1`:                                   second,
		all + `, "layers_to_transform": 0`:                                   first,
		all + `, "layers_to_transform": []`:                                  every,
		all + `, "layers_to_transform": [1], "layers_pattern": "h"`:          second,
		all + `, "layers_to_transform": [1], "layers_pattern": ["l", "h"]`:   second,
		all + `, "layers_to_transform": [2], "layers_pattern": "transf.*.h"`: third,
		all + `, "layers_to_transform": [1], "layers_pattern": []`:           second,
		`"layers_to_transform": [1], "target_modules": ["c_fc", "transformer.h.0.mlp.c_proj"]`: "0.mlp.c_proj " +
			"1.mlp.c_fc",
		`"layers_to_transform": [1], "target_modules": ["c_fc"]`: "1.mlp.c_fc",
		all + `, "exclude_modules": ["c_proj"]`: "0.attn.c_attn 0.mlp.c_fc 1.attn.c_attn " +
			"1.mlp.c_fc 2.attn.c_attn 2.mlp.c_fc",
		all + `, "exclude_modules": ["transformer.h.1.attn.c_attn"]`: first +
			" 1.attn.c_proj 1.mlp.c_fc 1.mlp.c_proj " + third,
		all + `, "exclude_modules": ".*h\\.2\\..*"`: first + " " + second,
		all + `, "exclude_modules": "c_fc"`:         every,
		all + `, "exclude_modules": []`:             every,
		all + `, "exclude_modules": ""`:             every,
		all + `, "modules_to_save": ["mlp"]`: "0.attn.c_attn 0.attn.c_proj 1.attn.c_attn " +
			"1.attn.c_proj 2.attn.c_attn 2.attn.c_proj",
	} {
		c, err := opensAdapter(t, base, l, members)
		if err != nil {
			t.Errorf("%s: %v", members, err)
			continue
		}
		var got []string
		for _, x := range c.Tensors.All() {
			was, _ := before.Tensors.Tensor(x.Name)
			now, err := x.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			if then, err := was.Bytes(); err != nil || !bytes.Equal(now, then) {
				name := strings.TrimPrefix(strings.TrimPrefix(x.Name, "transformer."), "h.")
				got = append(got, strings.TrimSuffix(name, ".weight"))
			}
		}
		slices.Sort(got)
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
		if left := 12 - len(got); (left > 0) != (len(c.Unread) == 1) || !slices.Equal(c.Unread,
			c.Notes[1:]) {
			t.Errorf("%s: %d modules are left out, told as %q", members, left, c.Unread)
		}
	}
}

// TestConfigsThatNameNothing: as in PEFT they are errors.
func TestConfigsThatNameNothing(t *testing.T) {
	base, l := everyModule(t)
	const list = `"target_modules": ["c_attn"]`
	for members, want := range map[string]string{
		`"target_modules": ["_attn"]`:                      "target_modules names no layer of",
		`"target_modules": []`:                             "target_modules names no layer of",
		`"target_modules": ["q_proj"]`:                     "target_modules names no layer of",
		`"target_modules": "c_attn"`:                       "target_modules names no layer of",
		list + `, "layers_to_transform": [9]`:              "target_modules names no layer of",
		list + `, "exclude_modules": ["c_attn"]`:           "target_modules names no layer of",
		list + `, "layers_pattern": "h"`:                   "layers_pattern: not without layers_to_transform",
		`"target_modules": ".*", "layers_to_transform": 1`: "layers_to_transform: not with",
		list + `, "layers_to_transform": 1.5`:              "layers_to_transform: want a whole number or",
		`"target_modules": {"a": 1}`:                       "target_modules: want a list of strings",
		`"target_modules": ".*(?<!mlp\\.)c_proj"`:          "not a regular expression that is supported",
		`"target_modules": "(a{99}){9}"`:                   "not a regular expression that is supported",
		`"target_modules": "(?!.*mlp).*attn|h"`:            "not a regular expression that is supported",
	} {
		c, err := opensAdapter(t, base, l, members)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", members, c, err, want)
		}
	}
	// that the base has, and the adapter has not
	one := newLora(1, 2, weights.F32)
	one.pair("transformer.h.0.attn.c_attn", 1, 15, 45)
	if c, err := opensAdapter(t, base, one, `"target_modules": ["c_fc"]`); err != nil ||
		len(c.Unread) != 1 {
		t.Errorf("%v, %v", c, err)
	}
}

// TestUnknownFieldsAreTold: those with a value, of an adapter's config and of the base's.
func TestUnknownFieldsAreTold(t *testing.T) {
	base, l := everyModule(t)
	text, err := os.ReadFile(base + "/config.json")
	if err != nil {
		t.Fatal(err)
	}
	var config map[string]any
	if err := json.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	for members, want := range map[string][]string{
		`"a": null, "b": false, "c": "", "d": [], "e": {}`: nil,
		`"frobnicate": 0`:                                                      {"frobnicate"},
		`"frobnicate": {"x": 1}, "knob": "on"`:                                 {"frobnicate, knob"},
		`"a": 1, "b": 2, "c": 3, "d": 4, "e": 5`:                               {"a, b, c, 2 more"},
		`"gradient_checkpointing": true, "summary_type": "x", "_name": "gpt2"`: nil,
	} {
		var more map[string]any
		if err := json.Unmarshal([]byte("{"+members+"}"), &more); err != nil {
			t.Fatal(err)
		}
		merged := maps.Clone(config)
		maps.Copy(merged, more)
		merged["model_type"] = "gpt2"
		text, _ := json.Marshal(merged)
		if err := os.WriteFile(base+"/config.json", text, 0o666); err != nil {
			t.Fatal(err)
		}
		c, err := checkpoint.Open(base, checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, members, c.Unread, want)
		c.Close()
	}
	if err := os.WriteFile(base+"/config.json", text, 0o666); err != nil {
		t.Fatal(err)
	}
	for members, want := range map[string][]string{
		`"a": null, "b": false, "c": "", "d": [], "e": {}`: nil,
		`"frobnicate": 0`: {"frobnicate"},
		`"bias": "none", "peft_version": "0.21.0", "lora_dropout": 0.1`: nil,
	} {
		c, err := opensAdapter(t, base, l, `"target_modules": ".*", `+members)
		if err != nil {
			t.Fatal(err)
		}
		check(t, members, c.Unread, want)
	}
}

func check(t *testing.T, what string, unread, want []string) {
	t.Helper()
	if len(unread) != len(want) || len(want) == 1 &&
		!strings.HasSuffix(unread[0], ": not known, and without effect: "+want[0]) {
		t.Errorf("%s: %q, want %q", what, unread, want)
	}
}

// TestHowATrainingBegan: by PEFT 0.21, some ways change the base's weights and some do not.
func TestHowATrainingBegan(t *testing.T) {
	base, l := everyModule(t)
	for value, want := range map[string]string{
		`true`: "", `false`: "", `"gaussian"`: "", `"eva"`: "", `"orthogonal"`: "", `"mica"`: "",
		`"pissa"`: "changed the base's weights", `"pissa_niter_4"`: "changed the base's weights",
		`"olora"`: "changed the base's weights", `"corda"`: "changed the base's weights",
		`"loftq"`: "changed the base's weights", `"lora_ga"`: "changed the base's weights",
		`"xyz"`: "not a way to begin that is known",
	} {
		_, err := opensAdapter(t, base, l, `"target_modules": ".*", "init_lora_weights": `+value)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}
