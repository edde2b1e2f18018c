package model

import (
	"fmt"
	"strings"
	"testing"
)

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
