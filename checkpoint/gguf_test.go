package checkpoint_test

// What GGUF's metadata may say of another architecture.

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/internal/gguf"
	"picogpt/weights"
)

// A refusal is one error that names the key: of its kind, or of its value.
func TestGGUFRefusesAnotherArchitectureByItsKey(t *testing.T) {
	for key, values := range map[string][2]any{ // of another kind, of another value
		"gpt2.attention.causal":         {"no", false},
		"gpt2.attention.head_count_kv":  {"two", uint32(1)},
		"gpt2.attention.sliding_window": {"wide", uint32(8)},
		"gpt2.expert_count":             {true, uint32(8)},
		"gpt2.logit_scale":              {"large", float32(2)},
	} {
		for _, value := range values {
			pairs := []gguf.Pair{
				{Key: "general.architecture", Value: "gpt2"},
				{Key: "gpt2.block_count", Value: uint32(1)},
				{Key: "gpt2.context_length", Value: uint32(8)},
				{Key: "gpt2.embedding_length", Value: uint32(4)},
				{Key: "gpt2.feed_forward_length", Value: uint32(16)},
				{Key: "gpt2.attention.head_count", Value: uint32(2)},
				{Key: "gpt2.attention.layer_norm_epsilon", Value: float32(1e-5)},
				{Key: "gpt2.vocab_size", Value: uint32(29)},
				{Key: key, Value: value},
			}
			var b bytes.Buffer
			embedding := weights.Tensor{Name: "token_embd.weight", DType: weights.F32,
				Shape: []int{29, 4}, Data: make([]byte, 29*4*4)}
			if err := gguf.Write(&b, pairs, []weights.Tensor{embedding}); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(t.TempDir(), "model.gguf")
			if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
				t.Fatal(err)
			}
			_, err := checkpoint.Open(path, checkpoint.Options{})
			if err == nil || strings.Count(err.Error(), key) != 1 ||
				strings.Contains(err.Error(), "\n") || strings.Count(err.Error(), "want") != 1 {
				t.Errorf("%s: %v: %v, want one error", key, value, err)
			}
		}
	}
}
