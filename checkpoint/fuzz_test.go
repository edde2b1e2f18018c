package checkpoint

// Configs of adapters, from texts of any kind.

import (
	"math"
	"strings"
	"testing"
)

func FuzzAdapterConfig(f *testing.F) {
	for _, config := range []string{`{"peft_type":"LORA","r":8,"lora_alpha":16,"base_model_name_or_path":"gpt2","revision":"v1"}`,
		`{"peft_type":"LORA","r":2,"lora_alpha":1,"use_rslora":true,"rank_pattern":{"h.0.attn.c_attn":4,"c_.*":1},"alpha_pattern":{"c_fc":3.5}}`,
		`{"peft_type":"LORA","r":1e9,"fan_in_fan_out":true,"modules_to_save":["wte"],"id2label":{"0":"a"}}`, `{"peft_type":"OFT"}`,
		`{"peft_type":"LORA","r":1,"use_dora":true}`, `{"peft_type":"LORA","r":1,"init_lora_weights":"pissa"}`,
		`{"peft_type":"LORA","r":1,"rank_pattern":{"(":2}}`, `{"peft_type":"LORA","r":1.5}`, `[]`, ``} {
		f.Add(config)
	}
	f.Fuzz(func(t *testing.T, config string) {
		c, err := parseAdapterConfig([]byte(config))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("an error of several lines: %v", err)
			}
			return
		}
		for _, module := range []string{"transformer.h.0.attn.c_attn", "h.11.mlp.c_fc", "wte"} {
			if r := c.rankOf(module); r < 1 || r > math.MaxInt32 {
				t.Errorf("%s: %s: rank %d", config, module, r)
			}
			if s := c.scaleOf(module); math.IsNaN(s) {
				t.Errorf("%s: %s: scale %v", config, module, s)
			}
		}
		if len(c.base) > 2000 || strings.ContainsAny(c.base, "\n\x00\x1b") {
			t.Errorf("the base is named %q", c.base)
		}
	})
}
