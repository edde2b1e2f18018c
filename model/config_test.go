package model

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"picogpt/internal/folder"
)

func TestAnEmptyConfigIsGPT2Small(t *testing.T) {
	c, err := ParseConfig([]byte(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	bos := 50256
	want := Config{ // transformers' GPT2Config(), 4.46
		VocabSize: 50257, Positions: 1024, Embd: 768, Layer: 12, Head: 12, Inner: 3072,
		Activation: "gelu_new", LayerNormEpsilon: 1e-5, ScaleAttnWeights: true,
		TieWordEmbeddings: true,
		BOSTokenID:        &bos, EOSTokenIDs: []int{50256}, ModelType: "gpt2",
	}
	if !reflect.DeepEqual(c, want) {
		t.Errorf("%+v\nwant %+v", c, want)
	}
	if !reflect.DeepEqual(DefaultConfig(), want) {
		t.Errorf("DefaultConfig is %+v\nwant %+v", DefaultConfig(), want)
	}
}

// summary prints what the tests below compare: sizes, then what differs from
// the defaults.
func summary(c Config) string {
	s := fmt.Sprintf("v%d p%d e%d l%d h%d i%d %s %g", c.VocabSize, c.Positions, c.Embd, c.Layer,
		c.Head, c.Inner, c.Activation, c.LayerNormEpsilon)
	for _, f := range []struct {
		on   bool
		name string
	}{
		{!c.ScaleAttnWeights, "unscaled"}, {c.ScaleAttnByInverseLayerIdx, "inverse"},
		{c.ReorderAndUpcastAttn, "upcast"}, {!c.TieWordEmbeddings, "untied"},
	} {
		if f.on {
			s += " " + f.name
		}
	}
	if c.BOSTokenID != nil {
		s += fmt.Sprint(" bos", *c.BOSTokenID)
	}
	return s + fmt.Sprint(" eos", c.EOSTokenIDs)
}

func TestConfigsInTheWild(t *testing.T) {
	for _, c := range []struct{ name, json, want string }{
		{"nano-sort", `{"model_type":"gpt2","architectures":["GPT2LMHeadModel"],"vocab_size":3,"n_positions":11,"n_ctx":11,"n_embd":48,"n_layer":3,"n_head":3,"n_inner":null,"activation_function":"gelu_new","layer_norm_epsilon":1e-05,"tie_word_embeddings":false}`,
			"v3 p11 e48 l3 h3 i192 gelu_new 1e-05 untied eos[]"},
		{"Cerebras-GPT 13B: exact GELU, no n_ctx, its own n_inner",
			`{"architectures":["GPT2Model"],"activation_function":"gelu","n_embd":5120,"n_head":40,"n_inner":20480,"n_layer":40,"n_positions":2048,"attn_pdrop":0.0,"scale_attn_weights":true,"use_cache":true,"vocab_size":50257}`,
			"v50257 p2048 e5120 l40 h40 i20480 gelu 1e-05 bos50256 eos[50256]"},
		{"codeparrot-small", `{"vocab_size":32768,"scale_attn_by_inverse_layer_idx":true,"reorder_and_upcast_attn":true,"bos_token_id":0,"eos_token_id":0}`,
			"v32768 p1024 e768 l12 h12 i3072 gelu_new 1e-05 inverse upcast bos0 eos[0]"},
		{"GPT2-Chinese: ids outside the vocabulary",
			`{"vocab_size":21128,"bos_token_id":50256,"eos_token_id":50256,"tokenizer_class":"BertTokenizer"}`,
			"v21128 p1024 e768 l12 h12 i3072 gelu_new 1e-05 eos[]"},
		{"a chess model: multiples of nothing",
			`{"vocab_size":44,"n_embd":35,"n_head":5,"n_inner":37,"n_layer":1,"n_positions":7}`,
			"v44 p7 e35 l1 h5 i37 gelu_new 1e-05 eos[]"},
		{"n_ctx alone", `{"n_ctx":77}`, "v50257 p77 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"the Hugging Face course's: n_ctx yields to n_positions", `{"n_ctx":128,"n_positions":1024}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"n_ctx yields to the alias", `{"max_position_embeddings":64,"n_ctx":128}`,
			"v50257 p64 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"forks' keys that change nothing",
			`{"n_head":4,"num_key_value_heads":4,"alibi":false,"rotary_emb_fraction":0.0,"scale_emb":1.0,"mup_scale_qk_dot_by_d":false,"attn_mult":null,"prenorm":true,"attn_pdrop":0.1,"use_flash_attn":true}`,
			"v50257 p1024 e768 l12 h4 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"GPT2Config's aliases", `{"hidden_size":64,"num_hidden_layers":2,"num_attention_heads":4,"max_position_embeddings":32}`,
			"v50257 p32 e64 l2 h4 i256 gelu_new 1e-05 bos50256 eos[50256]"},
		{"aliases that agree", `{"hidden_size":64,"n_embd":64,"n_ctx":9,"n_positions":9,"max_position_embeddings":9,"n_head":1}`,
			"v50257 p9 e64 l12 h1 i256 gelu_new 1e-05 bos50256 eos[50256]"},
		{"nulls are absent keys", `{"vocab_size":null,"n_positions":null,"n_ctx":5,"n_embd":null,"n_layer":null,"n_head":null,"n_inner":null,"activation_function":null,"layer_norm_epsilon":null,"scale_attn_weights":null,"tie_word_embeddings":null,"add_cross_attention":null,"model_type":null,"quantization_config":null,"architectures":null,"pruned_heads":null}`,
			"v50257 p5 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"but null means no such token", `{"bos_token_id":null,"eos_token_id":null}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 eos[]"},
		{"several ends of text", `{"eos_token_id":[50256,3,3,-1,99999` + strings.Repeat(",3,50256", 60000) + `]}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256 3]"},
		{"integers in other spellings", `{"n_positions":1e3,"n_embd":12.0,"n_head":30e-1,"n_layer":0.2E+1,"n_inner":7.00}`,
			"v50257 p1000 e12 l2 h3 i7 gelu_new 1e-05 bos50256 eos[50256]"},
		{"scores unscaled", `{"scale_attn_weights":false}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 unscaled bos50256 eos[50256]"},
		{"epsilon zero", `{"layer_norm_epsilon":0}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 0 bos50256 eos[50256]"},
		{"epsilon large", `{"layer_norm_epsilon":1}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1 bos50256 eos[50256]"},
		{"keys in capitals are other keys", `{"N_EMBD":5,"Model_Type":"bert"}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"flags at their neutral values", `{"add_cross_attention":false,"is_encoder_decoder":false,"pruned_heads":{},"position_embedding_type":"absolute","attention_head_type":"multihead","multi_query":false}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
		{"keys that touch no arithmetic, of any type",
			`{"_name_or_path":7,"attn_pdrop":"0.1","resid_pdrop":-1,"embd_pdrop":null,"initializer_range":[],"summary_activation":{},"summary_first_dropout":1e-1,"summary_proj_to_labels":"x","summary_type":false,"summary_use_proj":3,"architectures":"GPT2LMHeadModel","task_specific_params":{"a":1,"b":2},"torch_dtype":12,"transformers_version":null,"use_cache":"yes","gradient_checkpointing":1,"id2label":{"0":"x"},"chess":"♞"}`,
			"v50257 p1024 e768 l12 h12 i3072 gelu_new 1e-05 bos50256 eos[50256]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := ParseConfig([]byte(c.json))
			if err != nil {
				t.Fatal(err)
			}
			if summary(got) != c.want {
				t.Errorf("%s\nwant %s", summary(got), c.want)
			}
		})
	}
}

func TestEveryActivationInUseIsKnown(t *testing.T) {
	for _, a := range strings.Fields("gelu_new gelu_pytorch_tanh gelu gelu_fast quick_gelu relu silu swish tanh " +
		"gelu_python gelu_python_tanh gelu_accurate relu2 mish") {
		c, err := ParseConfig([]byte(`{"activation_function":"` + a + `"}`))
		if err != nil || string(c.Activation) != a {
			t.Errorf("%s: %q, %v", a, c.Activation, err)
		}
	}
}

// TestOtherActivationsAreRefused: the rest of transformers' ACT2FN (5.24).
func TestOtherActivationsAreRefused(t *testing.T) {
	for _, a := range strings.Fields("gelu_10 hardswish laplace leaky_relu linear relu6 sigmoid " +
		"sqrtsoftplus prelu xielu") {
		_, err := ParseConfig([]byte(`{"activation_function":"` + a + `"}`))
		if err == nil || !strings.HasPrefix(err.Error(), `activation_function: "`+a+`", want one of `) {
			t.Errorf("%s: %v", a, err)
		}
	}
}

// TestNamesOfOneActivation: a name and its plain one are one function.
func TestNamesOfOneActivation(t *testing.T) {
	for _, a := range activations() {
		plain := a.Plain()
		if plain.Plain() != plain || plain.kernel() != a.kernel() {
			t.Errorf("%s is %s", a, plain)
		}
		for _, b := range activations() {
			if a.kernel() == b.kernel() && b.Plain() != plain {
				t.Errorf("%s is %s, but %s is %s", a, plain, b, b.Plain())
			}
		}
	}
}

func TestConfigsThatCannotBeHonouredAreRefusedByName(t *testing.T) {
	deep := strings.Repeat("[", 20000) + strings.Repeat("]", 20000)
	for _, c := range []struct {
		json string
		want []string
	}{
		{``, []string{"JSON"}},
		{`hello`, []string{"JSON"}},
		{`null`, []string{"null", "object"}},
		{`[]`, []string{"object"}},
		{`{"n_embd":4`, []string{"JSON"}},
		{`{"n_embd":NaN}`, []string{"JSON"}},
		{`{"n_embd":04}`, []string{"JSON"}},
		{`{} {}`, []string{"want the end"}},
		{`{}x`, []string{"want the end"}},
		{`{"x":` + deep + `}`, []string{"JSON"}},
		{"\ufeff{}", []string{"JSON"}},
		{`{"n_embd":4,"n_embd":4}`, []string{"n_embd", "twice"}},
		{`{"x":1,"x":1}`, []string{"x", "twice"}},
		{strings.Repeat(" ", maxConfig) + `{}`, []string{"bytes, want at most"}},

		{`{"model_type":"gpt_neo"}`, []string{"model_type", "gpt_neo", `"gpt2"`}},
		{`{"model_type":"GPT2"}`, []string{"model_type", "GPT2"}},
		{`{"model_type":2}`, []string{"model_type: 2"}},
		{`{"add_cross_attention":true}`, []string{"add_cross_attention: true"}},
		{`{"add_cross_attention":1}`, []string{"add_cross_attention: 1"}},
		{`{"is_encoder_decoder":true}`, []string{"is_encoder_decoder: true"}},
		{`{"quantization_config":{"bits":4}}`,
			[]string{"quantization_config", "bits", "want absent"}},
		{`{"pruned_heads":{"0":[1]}}`, []string{"pruned_heads"}},
		{`{"position_embedding_type":"alibi"}`, []string{"position_embedding_type", "alibi"}},
		{`{"attention_head_type":"multiquery"}`, []string{"attention_head_type", "multiquery"}},
		{`{"multi_query":true}`, []string{"multi_query"}},
		{`{"model_type":"a\u001b[2J"}`, []string{"model_type"}},
		{"{\"model_type\":\"a\u009b2J\"}", []string{"model_type"}},
		{`{"model_type":"` + strings.Repeat("x", 100000) + `"}`, []string{"model_type"}},

		{`{"activation_function":"hardswish"}`, []string{"activation_function", "hardswish", "gelu_new",
			"quick_gelu"}},
		{`{"activation_function":"GELU"}`, []string{"activation_function", "GELU"}},
		{`{"activation_function":""}`, []string{"activation_function"}},
		{`{"activation_function":3}`, []string{"activation_function", "3", "string"}},
		{`{"activation_function":["gelu"]}`, []string{"activation_function", "string"}},

		{`{"n_positions":1024,"max_position_embeddings":512}`,
			[]string{"max_position_embeddings: 512, but n_positions is 1024"}},
		{`{"n_embd":64,"hidden_size":32}`, []string{"n_embd", "hidden_size", "64", "32"}},
		{`{"n_head":5}`, []string{"n_head: 5 does not divide n_embd", "768"}},
		{`{"n_head":1536}`, []string{"n_head: 1536 does not divide n_embd"}},

		{"{\"model_type\":\"gpt\xff\"}", []string{"byte 18: not valid JSON: invalid UTF-8"}},
		{`{"model_type":"gpt\ud800"}`, []string{`\ud800 is a lone surrogate`}},
		{`{"task_specific_params":{"a":1,"a":2}}`, []string{`"a" comes twice`}},
		{`{"layer_norm_epsilon":-1e-5}`, []string{"layer_norm_epsilon: -1e-05"}},
		{`{"layer_norm_epsilon":1e400}`, []string{"layer_norm_epsilon: 1e400"}},
		{`{"layer_norm_epsilon":1e39}`, []string{"layer_norm_epsilon: 1e+39"}},
		{`{"layer_norm_epsilon":"1e-5"}`, []string{`layer_norm_epsilon: "1e-5"`, "number"}},
		{`{"layer_norm_epsilon":"Infinity"}`, []string{"layer_norm_epsilon"}},
		{`{"layer_norm_epsilon":true}`, []string{"layer_norm_epsilon: true"}},
		{`{"scale_attn_weights":1}`, []string{"scale_attn_weights: 1", "true or false"}},
		{`{"scale_attn_by_inverse_layer_idx":"true"}`,
			[]string{"scale_attn_by_inverse_layer_idx", "true or false"}},
		{`{"reorder_and_upcast_attn":0}`, []string{"reorder_and_upcast_attn: 0"}},
		{`{"tie_word_embeddings":{}}`, []string{"tie_word_embeddings: {}"}},
		{`{"eos_token_id":"50256"}`, []string{"eos_token_id", "integer"}},
		{`{"eos_token_id":[1,[2]]}`, []string{"eos_token_id", "[2]"}},
		{`{"bos_token_id":1.5}`, []string{"bos_token_id: 1.5"}},
		{`{"bos_token_id":{}}`, []string{"bos_token_id: {}"}},
	} {
		_, err := ParseConfig([]byte(c.json))
		wantOneLine(t, err, fmt.Sprintf("%.100s", c.json), c.want...)
	}
}

func TestSizesAreBoundedBeforeAnythingIsMade(t *testing.T) {
	for _, name := range []string{"vocab_size", "n_positions", "n_ctx", "n_embd", "hidden_size",
		"n_layer", "n_head", "n_inner"} {
		for _, v := range []string{"0", "-0", "-1", "-768", "1.5", "2147483648", "4294967297",
			"9223372036854775808", "1e30", "1e999999999", "-1e400", `"768"`, "true", "[768]", "{}",
			"2147483647", strings.Repeat("9", 5000)} {
			_, err := ParseConfig([]byte(`{"` + name + `":` + v + `}`))
			want := name
			switch name { // the bounds are Validate's, which knows one name each
			case "n_ctx":
				want = "n_"
			case "hidden_size":
				want = ""
			}
			wantOneLine(t, err, name+" "+v, want)
		}
	}
}

func wantOneLine(t *testing.T, err error, what string, words ...string) {
	t.Helper()
	if err == nil {
		t.Errorf("%s: no error, want one with %q", what, words)
		return
	}
	if strings.ContainsAny(err.Error(), "\n\r\x1b\u009b") || !utf8.ValidString(err.Error()) ||
		len(err.Error()) > 400 {
		t.Errorf("%s: error is not one plain line: %.500q", what, err)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("%s: error %q does not have %q", what, err, w)
		}
	}
}

func TestValidateHoldsConfigsMadeInGoToTheSameRules(t *testing.T) {
	if err := DefaultConfig().Validate(); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		want   string
		change func(*Config)
	}{
		{"vocab_size: 0", func(c *Config) { c.VocabSize = 0 }},
		{"n_positions: -1", func(c *Config) { c.Positions = -1 }},
		{"n_embd: 2147483647", func(c *Config) { c.Embd = math.MaxInt32 }},
		{"n_layer: 0", func(c *Config) { c.Layer = 0 }},
		{"n_head: 0", func(c *Config) { c.Head = 0 }},
		{"n_head: 7", func(c *Config) { c.Head = 7 }},
		{"n_inner: 0", func(c *Config) { c.Inner = 0 }},
		{"activation_function: \"\"", func(c *Config) { c.Activation = "" }},
		{"layer_norm_epsilon: NaN", func(c *Config) { c.LayerNormEpsilon = math.NaN() }},
		{"layer_norm_epsilon: +Inf", func(c *Config) { c.LayerNormEpsilon = math.Inf(1) }},
	} {
		cfg := DefaultConfig()
		c.change(&cfg)
		wantOneLine(t, cfg.Validate(), c.want, c.want)
	}
}

func TestConfigsSurviveJSON(t *testing.T) {
	for _, in := range []string{
		`{}`, `{"eos_token_id":[1,2],"bos_token_id":null}`, `{"eos_token_id":null}`,
		`{"vocab_size":3,"n_positions":11,"n_embd":6,"n_layer":3,"n_head":3,"n_inner":5,"activation_function":"relu","layer_norm_epsilon":0.1,"scale_attn_weights":false,"scale_attn_by_inverse_layer_idx":true,"reorder_and_upcast_attn":true,"tie_word_embeddings":false,"architectures":["GPT2Model"]}`,
	} {
		roundTrip(t, []byte(in))
	}
	var c Config
	wantOneLine(t, json.Unmarshal([]byte(`{"n_head":5}`), &c), "Unmarshal", "n_head")
}

// roundTrip checks that what a config marshals to is read back as the same.
func roundTrip(t *testing.T, in []byte) {
	t.Helper()
	c, err := ParseConfig(in)
	if err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	var again Config
	if err := json.Unmarshal(out, &again); err != nil {
		t.Fatalf("%s: %v", out, err)
	}
	if !reflect.DeepEqual(c, again) {
		t.Errorf("%s\nbecame %+v\nthen   %+v", in, c, again)
	}
}

func readConfig(path string) (Config, error) {
	fsys, _, err := folder.Split(path)
	if err != nil {
		return Config{}, err
	}
	return ReadConfig(fsys)
}

func TestConfigFilesAreReadWithinBounds(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	_, err := readConfig(filepath.Join(dir, "nothing"))
	wantOneLine(t, err, "no directory", filepath.Join(dir, "nothing")+": ")
	_, err = readConfig(dir)
	wantOneLine(t, err, "missing", path)
	if err := os.Mkdir(path, 0o777); err != nil {
		t.Fatal(err)
	}
	_, err = readConfig(dir)
	wantOneLine(t, err, "a directory", path, "regular file")
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(`{"n_head":5}`), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err = readConfig(dir)
	wantOneLine(t, err, "bad", path+": n_head: 5")
	if err := os.WriteFile(path, []byte(`{"n_head":4}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if c, err := readConfig(dir); err != nil || c.Head != 4 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := os.Truncate(path, 1<<40); err != nil {
		t.Skip("no sparse files here:", err)
	}
	_, err = readConfig(dir)
	wantOneLine(t, err, "a terabyte", path, "want at most")
}

// FuzzConfig: no bytes make ParseConfig or ParseGeneration panic, errors stay on one line, and
// what it accepts is a valid Config that marshals to the same.
func FuzzConfig(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"n_embd":64,"n_head":4,"n_inner":null,"eos_token_id":[1,2]}`,
		`{"n_ctx":1e3,"layer_norm_epsilon":1e-5}`,
		`{"activation_function":"swish","model_type":"gpt2","scale_attn_weights":false}`,
		`{"n_embd":12.0,"architectures":["x"]}`, `{"bos_token_id":-1}`,
		`{"eos_token_id":[3,4],"temperature":0.7,"other":[1]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := ParseGeneration(b, 100); err != nil {
			wantOneLine(t, err, "fuzz")
		}
		LegacyGeneration(b)
		c, err := ParseConfig(b)
		if err != nil {
			wantOneLine(t, err, "fuzz")
			return
		}
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
		roundTrip(t, b)
	})
}

// TestForksAreRefusedByName: keys with which files of GPT-2's tensors compute something else. Each
// is refused with its value, and passes with one that changes nothing.
func TestForksAreRefusedByName(t *testing.T) {
	for _, r := range refusals() {
		name := strings.TrimSuffix(r.name, "_")
		if name != r.name {
			name += "_width_scale"
		}
		for _, value := range []string{"8.0", `"other"`, "[1]", `{"a":1}`} {
			_, err := ParseConfig(fmt.Appendf(nil, `{"%s":%s}`, name, value))
			wantOneLine(t, err, name, name+": "+value)
		}
		for _, value := range append([]string{"null"}, r.neutral...) {
			if _, err := ParseConfig(fmt.Appendf(nil, `{"%s":%s}`, name, value)); err != nil {
				t.Errorf("%s: %s: %v", name, value, err)
			}
		}
	}
	for value, names := range map[string]string{
		"false": "normalize_before do_layer_norm_before pre_layer_norm prenorm",
		"true": "post_layer_norm apply_residual_connection_post_layernorm use_parallel_residual " +
			"use_rms_norm qk_norm alibi use_rope multi_query add_cross_attention use_mup",
	} {
		for name := range strings.FieldsSeq(names) {
			_, err := ParseConfig(fmt.Appendf(nil, `{"%s":%s}`, name, value))
			wantOneLine(t, err, name, name+": "+value)
		}
	}
	_, err := ParseConfig([]byte(`{"model_type":"gpt2","attn_mult":8.0}`)) // datablations/mup
	wantOneLine(t, err, "mup", "attn_mult: 8.0, want absent: no such scale is applied here")
	_, err = ParseConfig([]byte(`{"n_head":12,"num_key_value_heads":1}`))
	wantOneLine(t, err, "multi-query", "num_key_value_heads: 1")
	_, err = ParseConfig([]byte(`{"mup_b":1,"mup_a":1}`))
	wantOneLine(t, err, "two of them", "mup_a: 1, want false")
}

func TestKeysThatNobodyKnows(t *testing.T) {
	for text, want := range map[string][]string{
		`{"model_type":"gpt2","frob":1,"n_embd":32}`:                             {"frob"},
		`{"frob":[ 1 ],"model_type":"gpt2","knob":0}`:                            {"frob", "knob"},
		`{"model_type":"gpt2","a":null,"b":false,"c":"","d":[ ],"e":{},"f":{ }}`: nil,
		`{"model_type":"gpt2","mup_width":1,"rotary":false,"n_kv_head":12}`:      nil, // refused
		`{"model_type":"gpt2","_x":1,"summary_x":1,"x_token_id":1,"top_p":0.5}`:  nil,
		`{"model_type":"gpt2","torch_dtype":"float32","id2label":{"0":"a"}}`:     nil,
		`{"frob":1}`:                   nil, // of another program
		`{"model_type":"gpt2","frob":`: nil, // ParseConfig tells what is wrong
	} {
		if got := UnknownKeys([]byte(text)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}
