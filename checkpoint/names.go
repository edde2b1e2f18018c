// The names that programs have for GPT-2's tensors, and what stands before them. The names here are
// Hugging Face's, which nanoGPT and minGPT share.

package checkpoint

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"picogpt/internal/quote"
	"picogpt/weights"
)

// A dialect is the names that one program has.
type dialect struct {
	program   string
	embedding string               // the name of the embedding of tokens
	heads     []string             // names of the head's weights, which may be the embedding too
	block     string               // what the names in blocks begin with
	names     map[string]string    // its names and ours, less .weight and .bias; nil: they are ours
	same      *strings.Replacer    // makes one name of several that versions of the program have
	own       []string             // the first parts of names that are no other program's
	settle    func(settings) error // adds to a config what the program's code fixes; nil: nothing
}

// Names of ours that end so are a part of a tensor: the rows of q, k or v, or those of all three,
// which lie together for each head.
const (
	partQ, partK, partV = " q", " k", " v"
	byHead              = " by head"
)

// dialects returns all dialects. In the names, * is the number of a layer.
func dialects() []dialect {
	return []dialect{
		{program: "GPT-2", embedding: "wte.weight", block: "h.",
			heads: []string{headName, olderHeadName}},
		// Raschka, Build a Large Language Model (From Scratch), chapter 4
		{program: "LLMs-from-scratch", embedding: "tok_emb.weight", own: []string{"trf_blocks"},
			heads: []string{"out_head.weight"}, block: "trf_blocks.", settle: settleBook,
			same: strings.NewReplacer(".scale", ".weight", ".shift", ".bias"),
			names: map[string]string{
				"tok_emb": "wte", "pos_emb": "wpe", "final_norm": "ln_f", "out_head": "lm_head",
				"trf_blocks.*.norm1": "h.*.ln_1", "trf_blocks.*.norm2": "h.*.ln_2",
				"trf_blocks.*.att.W_query":  "h.*.attn.c_attn" + partQ,
				"trf_blocks.*.att.W_key":    "h.*.attn.c_attn" + partK,
				"trf_blocks.*.att.W_value":  "h.*.attn.c_attn" + partV,
				"trf_blocks.*.att.out_proj": "h.*.attn.c_proj",
				"trf_blocks.*.att.mask":     "h.*.attn.bias",
				"trf_blocks.*.ff.layers.0":  "h.*.mlp.c_fc",
				"trf_blocks.*.ff.layers.2":  "h.*.mlp.c_proj",
			}},
		// NVIDIA's Megatron-LM, megatron/model/language_model.py and transformer.py
		{program: "Megatron", embedding: "embedding.word_embeddings.weight",
			own:    []string{"transformer", "encoder", "embedding"},
			settle: settleMegatron,
			same:   strings.NewReplacer("encoder.", "transformer.", ".self_attention.", ".attention."),
			names: map[string]string{
				"embedding.word_embeddings": "wte", "embedding.position_embeddings": "wpe",
				"transformer.final_layernorm":                    "ln_f",
				"output_layer":                                   "lm_head",
				"transformer.layers.*.input_layernorm":           "h.*.ln_1",
				"transformer.layers.*.post_attention_layernorm":  "h.*.ln_2",
				"transformer.layers.*.attention.query_key_value": "h.*.attn.c_attn" + byHead,
				"transformer.layers.*.attention.dense":           "h.*.attn.c_proj",
				"transformer.layers.*.mlp.dense_h_to_4h":         "h.*.mlp.c_fc",
				"transformer.layers.*.mlp.dense_4h_to_h":         "h.*.mlp.c_proj",
			}},
	}
}

// The names of the head's weights, which most files leave out, because it is wte.
const headName, olderHeadName = "lm_head.weight", "lm_head.decoder.weight"

// wrappers are parts of names that modules around other modules add, wherever they stand: of
// torch.compile, FSDP and activation checkpointing.
var wrappers = strings.NewReplacer("_orig_mod.", "", "_fsdp_wrapped_module.", "",
	"_checkpoint_wrapped_module.", "")

// A naming is what the tensors of a file are called here.
type naming struct {
	dialect dialect
	ours    []string // for each name of the file
	head    string   // the name of the head if it is there in place of the embedding, else ""
}

// findNames returns the naming of a file with these names. What stands before the embedding's name
// is left out of all names; names that do not begin with it stay as they are. ok is false if there
// is no embedding.
func findNames(names []string) (n naming, ok bool, err error) {
	bare := make([]string, len(names))
	found, prefix := "", "" // the embedding's name, and what stands before it
	all := dialects()
	for i, name := range names {
		bare[i] = wrappers.Replace(name)
		for _, d := range all {
			before, is := strings.CutSuffix(bare[i], d.embedding)
			if !is || before != "" && before[len(before)-1] != '.' {
				continue
			}
			if found != "" && before != prefix {
				return n, false, fmt.Errorf("two models, with %s and %s, want one",
					quote.Plain(found, 80), quote.Plain(name, 80))
			}
			n.dialect, found, prefix = d, name, before
		}
	}
	if found == "" {
		i := -1
		if n.dialect, i, prefix = headAlone(bare); i < 0 {
			return n, false, nil
		}
		n.head, bare[i] = names[i], prefix+n.dialect.embedding
	}
	theirs := map[string]string{} // our name -> the file's
	for i, name := range bare {
		ours, err := n.dialect.rename(name, prefix)
		if err != nil {
			return n, false, err
		}
		if other, twice := theirs[ours]; twice {
			return n, false, fmt.Errorf("%s: there twice, as %s and %s, want it once",
				quote.Plain(ours, 80), quote.Plain(other, 80), quote.Plain(names[i], 80))
		}
		theirs[ours] = names[i]
		n.ours = append(n.ours, ours)
	}
	return n, true, nil
}

// headAlone returns which name is that of a head in a file without an embedding, -1 if none is, and
// what stands before the embedding's name. Programs that write a tied tensor once may take that name.
func headAlone(names []string) (d dialect, index int, prefix string) {
	for _, d := range dialects() {
		for i, name := range names {
			for _, head := range d.heads {
				parent, is := strings.CutSuffix(name, head)
				if !is || parent != "" && parent[len(parent)-1] != '.' {
					continue
				}
				for _, prefix := range []string{parent + "transformer.", parent} {
					if slices.ContainsFunc(names, func(name string) bool {
						return strings.HasPrefix(name, prefix+d.block)
					}) {
						return d, i, prefix
					}
				}
			}
		}
	}
	return dialect{}, -1, ""
}

// restored returns the tensors of a safetensors file with the names of its model. Where a module has
// one tensor under several names, safetensors' save_model writes it once, under the name that comes
// first in the alphabet, and says in the metadata which others it stands for. changed says whether
// any name is another one.
func restored(file *weights.Tensors) (all []weights.Tensor, changed bool) {
	all = slices.Clone(file.All())
	others := maps.Clone(file.Metadata())
	maps.DeleteFunc(others, func(name, kept string) bool {
		_, there := file.Tensor(name)
		_, written := file.Tensor(kept)
		return there || !written
	})
	if len(others) == 0 {
		return all, false
	}
	var names []string
	index := map[string]int{}
	for i, t := range all {
		names, index[t.Name] = append(names, t.Name), i
	}
	prefix, ok := beforeEmbedding(append(names, slices.Sorted(maps.Keys(others))...))
	for _, name := range slices.Sorted(maps.Keys(others)) {
		if !ok || !strings.HasPrefix(name, prefix) {
			continue
		}
		i := index[others[name]]
		changed = true
		if strings.HasPrefix(names[i], prefix) { // a layer that is there twice
			all = append(all, all[i])
			i = len(all) - 1
		}
		all[i].Name = name
	}
	return all, changed
}

// beforeEmbedding returns what stands before the first name of an embedding of tokens.
func beforeEmbedding(names []string) (prefix string, ok bool) {
	for _, name := range names {
		for _, d := range dialects() {
			before, is := strings.CutSuffix(name, d.embedding)
			if is && (before == "" || before[len(before)-1] == '.') {
				return before, true
			}
		}
	}
	return "", false
}

// rename returns our name of a tensor. prefix is what stands before the embedding's name.
func (d dialect) rename(name, prefix string) (string, error) {
	parent := prefix[:strings.LastIndexByte(strings.TrimSuffix(prefix, "."), '.')+1]
	inside, in := strings.CutPrefix(name, prefix)
	beside, near := strings.CutPrefix(name, parent)
	switch {
	case d.names != nil && in:
		return d.translate(inside)
	case in && prefix == parent+"transformer.":
		return "transformer." + inside, nil
	case in:
		return inside, nil
	case near:
		return beside, nil // a head
	}
	return name, nil
}

// translate returns our name of a tensor of another program.
func (d dialect) translate(name string) (string, error) {
	parts := strings.Split(d.same.Replace(name), ".")
	number := ""
	for i, part := range parts {
		if number == "" && part != "" && strings.Trim(part, "0123456789") == "" {
			number, parts[i] = part, "*"
		}
	}
	last := len(parts) - 1
	whole, layer := strings.Join(parts, "."), strings.Join(parts[:last], ".")
	ours, ok := d.names[whole]
	if to, is := d.names[layer]; is && (parts[last] == "weight" || parts[last] == "bias") {
		ours, part, _ := cutPart(to)
		return strings.Replace(ours, "*", number, 1) + "." + parts[last] + part, nil
	}
	if !ok && slices.Contains(d.own, parts[0]) {
		return "", fmt.Errorf("%s: unknown tensor in the stack, want the names of %s",
			quote.Plain(name, 80), d.program)
	}
	if !ok {
		return name, nil
	}
	return strings.Replace(ours, "*", number, 1), nil
}

// cutPart separates a name from what says that it is a part of a tensor.
func cutPart(name string) (tensor, part string, isPart bool) {
	for _, end := range []string{partQ, partK, partV, byHead} {
		if tensor, ok := strings.CutSuffix(name, end); ok {
			return tensor, end, true
		}
	}
	return name, "", false
}
