// Virtual tokens: prompts that were trained, which the model evaluates before every text.

package checkpoint

import (
	"errors"
	"fmt"
	"slices"

	"picogpt/model"
	"picogpt/weights"
)

// begin takes the virtual tokens of an adapter, which the model evaluates.
func (m *merging) begin(o *openAdapter, whole map[string]weights.Tensor) (err error) {
	defer caught(&err)
	t, ok := whole["prompt_embeddings"]
	delete(whole, "prompt_embeddings")
	n := o.config.whole("num_virtual_tokens", 0, 1)
	wte, there := m.base.Tensor(m.prefix + "wte.weight")
	switch {
	case !ok:
		return errors.New("no prompt_embeddings")
	case o.scale != 1:
		return fmt.Errorf("scale %v of virtual tokens, want none", o.scale)
	case !there || len(wte.Shape) != 2:
		return fmt.Errorf("the checkpoint %s has no %swte.weight", m.base.Name(), m.prefix)
	}
	width := wte.Shape[1]
	t.Name = model.VirtualEmbeddings
	if o.config.name == "PREFIX_TUNING" || o.config.name == "CARTRIDGE" {
		t.Name, width = model.VirtualKeysValues, 2*m.layers*width
	}
	for key, want := range map[string]int{"token_dim": wte.Shape[1], "num_layers": m.layers,
		"num_attention_heads": m.heads, "num_transformer_submodules": 1} {
		if x := o.config.whole(key, want, 1); x != want {
			return fmt.Errorf("adapter_config.json: %s: %d, want %d", key, x, want)
		}
	}
	if !slices.Equal(t.Shape, []int{n, width}) {
		return fmt.Errorf("prompt_embeddings: shape %v, want %v", t.Shape, []int{n, width})
	}
	m.virtual = &t
	return nil
}
