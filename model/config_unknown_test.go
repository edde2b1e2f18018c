package model

import (
	"slices"
	"testing"
)

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
