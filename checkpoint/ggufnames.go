package checkpoint

// The names of tensors in GGUF files.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/gguf"
	"picogpt/weights"
)

// A pairOfNames is a tensor's name in GGUF and in Hugging Face's files.
type pairOfNames struct {
	gguf, name string
	turned     bool // [out, in] in GGUF, [in, out] in Hugging Face's
}

var (
	ggufWhole = [...]pairOfNames{
		{"token_embd.weight", "wte.weight", false}, {"position_embd.weight", "wpe.weight", false},
		{"output_norm.weight", "ln_f.weight", false}, {"output_norm.bias", "ln_f.bias", false},
		{"output.weight", "lm_head.weight", false},
	}
	ggufLayer = [...]pairOfNames{
		{"attn_norm.weight", "ln_1.weight", false}, {"attn_norm.bias", "ln_1.bias", false},
		{"attn_qkv.weight", "attn.c_attn.weight", true}, {"attn_qkv.bias", "attn.c_attn.bias", false},
		{"attn_output.weight", "attn.c_proj.weight", true},
		{"attn_output.bias", "attn.c_proj.bias", false},
		{"ffn_norm.weight", "ln_2.weight", false}, {"ffn_norm.bias", "ln_2.bias", false},
		{"ffn_up.weight", "mlp.c_fc.weight", true}, {"ffn_up.bias", "mlp.c_fc.bias", false},
		{"ffn_down.weight", "mlp.c_proj.weight", true}, {"ffn_down.bias", "mlp.c_proj.bias", false},
	}
)

// ggufTensor returns a tensor with Hugging Face's name and orientation.
func ggufTensor(t gguf.Tensor) (weights.Tensor, error) {
	to := weights.Tensor{}
	prefix, names, rest := "", ggufWhole[:], t.Name
	if layer, ok := strings.CutPrefix(t.Name, "blk."); ok {
		number, part, _ := strings.Cut(layer, ".")
		if n, err := strconv.Atoi(number); err != nil || strconv.Itoa(n) != number || n < 0 {
			return to, fmt.Errorf("%s: unknown tensor, want blk.0 and so on", t.Name)
		}
		prefix, names, rest = "h."+number+".", ggufLayer[:], part
	}
	i := slices.IndexFunc(names, func(p pairOfNames) bool { return p.gguf == rest })
	if i < 0 {
		return to, fmt.Errorf("%s: unknown tensor, want those of the architecture gpt2", t.Name)
	}
	to = t.Elements()
	if names[i].turned {
		if len(t.Shape) != 2 {
			return to, fmt.Errorf("%s: %d dimensions, want 2", t.Name, len(t.Shape))
		}
		to = to.Transposed()
	}
	to.Name = prefix + names[i].name
	return to, nil
}

// ggufName returns the GGUF name for a name of Hugging Face's.
func ggufName(name string) string {
	prefix, names, rest := "", ggufWhole[:], name
	if layer, ok := strings.CutPrefix(name, "h."); ok {
		number, part, _ := strings.Cut(layer, ".")
		prefix, names, rest = "blk."+number+".", ggufLayer[:], part
	}
	for _, p := range names {
		if p.name == rest {
			return prefix + p.gguf
		}
	}
	return name // not reached: the model has no others
}
