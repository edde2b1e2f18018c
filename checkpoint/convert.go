// A checkpoint in another format: what each format can say of a model, and the files beside the
// weights.

package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/gguf"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/internal/torch"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// Targets returns the formats that Convert takes.
func Targets() []string { return []string{"safetensors", "gguf", "nanogpt"} }

// A Conversion is a checkpoint that is to be written in another format. It uses the Checkpoint that
// Convert was called on.
type Conversion struct {
	Files   []SmallFile // besides the weights: config.json, the tokenizer's files
	Weights string      // the name of the file of the weights
	Notes   []string    // what the format cannot say, a sentence each, for users

	write func(w io.Writer, format string, tensors []weights.Tensor) error
}

func (v *Conversion) note(format string, args ...any) {
	v.Notes = append(v.Notes, fmt.Sprintf(format, args...))
}

// A SmallFile is a whole file of a checkpoint.
type SmallFile struct {
	Name string
	Data []byte

	// Assumed is set for the files of GPT-2's tokenizer if the checkpoint has no tokenizer files.
	// Other programs need them.
	Assumed bool
}

// Convert prepares the checkpoint to be written in another format: "safetensors" for Hugging Face's
// libraries, "gguf" for llama.cpp, "nanogpt" for nanoGPT. If the format cannot say what the
// checkpoint computes, the error names the field.
//
//	v, err := c.Convert("gguf")
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{Format: "f16"})
//	err = v.Write(ctx, "models/gpt2.gguf", m)
func (c *Checkpoint) Convert(to string) (*Conversion, error) {
	if n := c.VirtualTokens(); n > 0 {
		return nil, fmt.Errorf("%d virtual tokens of an adapter: no format holds them", n)
	}
	switch to {
	case "safetensors":
		return c.toSafetensors()
	case "gguf":
		return c.toGGUF()
	case "nanogpt":
		return c.toNanoGPT()
	}
	return nil, fmt.Errorf("format %s, want one of %v", quote.Short(to, 20), Targets())
}

// Write writes the files of m, a model of the checkpoint in the wanted number format. to is the
// path of a GGUF file, or of the folder for other formats; it must not exist. After an error, also
// that of a context that ends, nothing is left.
func (v *Conversion) Write(ctx context.Context, to string, m *model.Model) error {
	if ctx == nil {
		return model.ErrNoContext
	}
	if v.File() {
		return outfile.WriteFile(ctx, to, outfile.Options{}, func(w io.Writer) error {
			return v.WriteWeights(ctx, w, m)
		})
	}
	f, err := outfile.NewFolder(to, v.Names(), outfile.Options{})
	if err != nil {
		return err
	}
	defer f.Close()
	for _, file := range v.Files {
		if err := f.Write(ctx, file.Name, outfile.Bytes(file.Data)); err != nil {
			return err
		}
	}
	err = f.Write(ctx, v.Weights, func(w io.Writer) error { return v.WriteWeights(ctx, w, m) })
	if err != nil {
		return err
	}
	return f.Commit(ctx)
}

// File reports whether the conversion writes only the file of the weights, under any name.
func (v *Conversion) File() bool { return path.Ext(v.Weights) == ".gguf" }

// Names returns the names of all files; the weights' is the last.
func (v *Conversion) Names() (names []string) {
	for _, f := range v.Files {
		names = append(names, f.Name)
	}
	return append(names, v.Weights)
}

// WriteWeights writes the file of the weights of m to w. It takes its turn with Eval.
func (v *Conversion) WriteWeights(ctx context.Context, w io.Writer, m *model.Model) error {
	return m.Export(ctx, func(tensors []weights.Tensor) error {
		return v.write(outfile.Cancellable(ctx, w), m.Format(), tensors)
	})
}

// What each format can say of a model, and what it cannot.

// toSafetensors prepares a folder for Hugging Face's libraries.
func (c *Checkpoint) toSafetensors() (*Conversion, error) {
	v := &Conversion{Weights: folder.Safetensors}
	config, err := c.configFile()
	if err != nil {
		return nil, err
	}
	v.Files = []SmallFile{{Name: folder.Config, Data: config}}
	unused := c.Unused()
	v.write = func(w io.Writer, format string, tensors []weights.Tensor) error {
		tensors = c.carried(tensors, unused)
		return weights.Write(w, map[string]string{"format": "pt", "picogpt.format": format}, tensors)
	}
	return v, c.companions(v)
}

// carried returns the decoder's tensors with those that it does not use, as the file has them. The
// decoder's names begin with "transformer." then, as Hugging Face's models with other heads have
// them.
func (c *Checkpoint) carried(tensors []weights.Tensor, unused []string) []weights.Tensor {
	if len(unused) == 0 {
		return tensors
	}
	for i, t := range tensors {
		if !strings.HasPrefix(t.Name, "lm_head.") {
			tensors[i].Name = "transformer." + t.Name
		}
	}
	for _, name := range unused {
		t, _ := c.Tensors.Tensor(name)
		tensors = append(tensors, t)
	}
	return tensors
}

// Portable returns an error if the weights are in q8 or q4, in blocks that only this project reads.
func (c *Checkpoint) Portable() error {
	for _, t := range c.Tensors.All() {
		if t.DType == weights.U8 && strings.HasSuffix(t.Name, "wte.weight") {
			return fmt.Errorf("%s: quantized in a layout that only this project reads: "+
				"convert the checkpoint that it was made of", c.Tensors.Name())
		}
	}
	return nil
}

// A limit is a field that a format cannot say, with the value that other readers of the file would
// take.
type limit struct {
	field string
	found any
	fits  bool
	means any // what a file of the format means
}

// refuse returns an error for the first field that a file of the format cannot say, because such a
// file would compute something else.
func (c *Checkpoint) refuse(format string, more ...limit) error {
	if err := c.Portable(); err != nil {
		return err
	}
	if unused := c.Unused(); len(unused) > 0 {
		return fmt.Errorf("%s: %s: no part of the decoder, and a file of %s cannot hold it: "+
			"one of safetensors can", c.Tensors.Name(), unused[0], format)
	}
	f := c.Config
	_, hasHead := outputHead(c.Tensors)
	for _, l := range append([]limit{
		{"scale_attn_weights", f.ScaleAttnWeights, f.ScaleAttnWeights, true},
		{"scale_attn_by_inverse_layer_idx", f.ScaleAttnByInverseLayerIdx,
			!f.ScaleAttnByInverseLayerIdx, false},
		{"tie_word_embeddings", false, f.TieWordEmbeddings || hasHead, true}, // or no head
	}, more...) {
		if !l.fits {
			return fmt.Errorf("%s: %s: %v, but a file of %s cannot say it and means %v: it "+
				"would compute something else", c.Tensors.Name(), l.field, l.found, format, l.means)
		}
	}
	return nil
}

// tanhGELU reports whether an activation is the tanh form of GELU, by any of its names.
func tanhGELU(a model.Activation) bool { return a.Plain() == model.GELUNew }

// toGGUF prepares a single file for llama.cpp.
func (c *Checkpoint) toGGUF() (*Conversion, error) {
	f := c.Config.Activation
	err := c.refuse("GGUF", limit{"activation_function", f, tanhGELU(f), model.GELUNew})
	if err != nil {
		return nil, err
	}
	v := &Conversion{Weights: "model.gguf"}
	vocabulary := c.ggufTokens(v)
	templates, err := c.templates()
	if err != nil {
		v.note("its chat template is not written: %v", err)
	}
	for _, name := range slices.Sorted(maps.Keys(templates)) {
		key := ggufTemplate
		if name != defaultTemplate {
			key += "." + name
		}
		vocabulary = append(vocabulary, gguf.Pair{Key: key, Value: templates[name].Source})
	}
	v.write = func(w io.Writer, format string, tensors []weights.Tensor) error {
		pairs := append(ggufPairs(&c.Config, format), vocabulary...)
		for i, t := range tensors {
			tensors[i] = turned(t)
			tensors[i].Name = ggufName(t.Name)
		}
		return gguf.Write(w, pairs, tensors)
	}
	return v, nil
}

// ggufPairs returns the metadata that describe the model. format is the number format of its
// matrices.
func ggufPairs(c *model.Config, format string) []gguf.Pair {
	fileTypes := map[string]uint32{"f32": 0, "f16": 1, "bf16": 32} // llama.cpp's numbers
	return []gguf.Pair{
		{Key: "general.architecture", Value: "gpt2"},
		{Key: "general.type", Value: "model"},
		{Key: "general.file_type", Value: fileTypes[format]},
		{Key: "gpt2.block_count", Value: uint32(c.Layer)},
		{Key: "gpt2.context_length", Value: uint32(c.Positions)},
		{Key: "gpt2.embedding_length", Value: uint32(c.Embd)},
		{Key: "gpt2.feed_forward_length", Value: uint32(c.Inner)},
		{Key: "gpt2.attention.head_count", Value: uint32(c.Head)},
		{Key: "gpt2.attention.layer_norm_epsilon", Value: float32(c.LayerNormEpsilon)},
		{Key: "gpt2.vocab_size", Value: uint32(c.VocabSize)},
	}
}

// ggufTokens returns the metadata of the tokenizer. If there is none, each token is a filler:
// llama.cpp's own way to say it (no_vocab) ends programs that ask for the text of a token.
func (c *Checkpoint) ggufTokens(v *Conversion) []gguf.Pair {
	p, err := c.ownParts()
	if err != nil {
		v.note("the file has no tokenizer and works on ids: %v", err)
		p = tokenizer.Parts{}
	}
	kinds := make([]int32, c.Config.VocabSize)
	for id := range kinds {
		if id == len(p.Tokens) { // a row without a token
			p.Tokens = append(p.Tokens, filler(id))
			p.Kinds = append(p.Kinds, tokenizer.Unused)
		}
		kinds[id] = int32(p.Kinds[id])
	}
	pairs := []gguf.Pair{
		{Key: ggufTokenizer + "model", Value: "gpt2"},
		{Key: ggufTokenizer + "pre", Value: "gpt-2"},
		{Key: ggufTokenizer + "tokens", Value: p.Tokens},
		{Key: ggufTokenizer + "token_type", Value: kinds},
		{Key: ggufTokenizer + "merges", Value: p.Merges},
	}
	if id, ok := c.Config.StartToken(); ok {
		pairs = append(pairs, gguf.Pair{Key: ggufTokenizer + "bos_token_id", Value: uint32(id)})
	}
	if ids := c.Config.EndTokens(); len(ids) > 0 {
		pairs = append(pairs, gguf.Pair{Key: ggufTokenizer + "eos_token_id", Value: uint32(ids[0])})
		if len(ids) > 1 {
			v.note("a GGUF file has one token that ends a text: %d is written, %v are not", ids[0],
				ids[1:])
		}
	} else if id, ok := c.tokenizersEnd(); ok {
		v.note("no token ends a text, which a GGUF file cannot say: programs that read it take "+
			"the tokenizer's, %d", id)
	}
	if fields := slices.Sorted(maps.Keys(c.Config.Generation.Sampling)); len(fields) > 0 {
		v.note("a GGUF file has no %s: what it says of %s is not written", folder.Generation,
			strings.Join(fields, ", "))
	}
	return append(pairs, gguf.Pair{Key: ggufTokenizer + "add_bos_token", Value: false})
}

// turned returns a tensor for formats that store the matrices of linear layers as [out, in].
func turned(t weights.Tensor) weights.Tensor {
	if isLinear(t.Name) {
		return t.Transposed()
	}
	return t
}

var errHead = errors.New("lm_head.weight: differs from wte.weight, but nanoGPT has one matrix " +
	"for both")

// toNanoGPT prepares a folder with a ckpt.pt for nanoGPT.
func (c *Checkpoint) toNanoGPT() (*Conversion, error) {
	f := c.Config
	err := c.refuse("nanoGPT", limit{"n_inner", f.Inner, f.Inner == 4*f.Embd, 4 * f.Embd},
		limit{"layer_norm_epsilon", f.LayerNormEpsilon, float32(f.LayerNormEpsilon) == 1e-5, 1e-5},
		limit{"activation_function", f.Activation,
			tanhGELU(f.Activation) || f.Activation.Plain() == model.GELU, model.GELU})
	if err != nil {
		return nil, err
	}
	if untied, err := c.Untied(); err != nil {
		return nil, err
	} else if untied {
		return nil, fmt.Errorf("%s: %w", c.Tensors.Name(), errHead)
	}
	v := &Conversion{Weights: folder.NanoGPT}
	if tanhGELU(f.Activation) {
		v.note("nanoGPT's files do not say the activation (%s): gpt --gelu tanh computes the "+
			"same; nanoGPT itself takes GELU's exact form since May 2023, which is close to it",
			f.Activation)
	}
	if err := c.nanoCompanions(v); err != nil {
		return nil, err
	}
	v.write = func(w io.Writer, _ string, tensors []weights.Tensor) error {
		state, err := nanoState(tensors)
		if err != nil {
			return err
		}
		// Arguments that nanoGPT has as floats are written as whole numbers: with weights_only,
		// PyTorch 1.13 refuses floats.
		args := torch.Members{{Key: "n_layer", Value: c.Config.Layer},
			{Key: "n_head", Value: c.Config.Head}, {Key: "n_embd", Value: c.Config.Embd},
			{Key: "block_size", Value: c.Config.Positions}, {Key: "bias", Value: true},
			{Key: "vocab_size", Value: c.Config.VocabSize}, {Key: "dropout", Value: 0}}
		return torch.Write(w, torch.Members{{Key: "model", Value: state},
			{Key: "model_args", Value: args}, {Key: "iter_num", Value: 0},
			{Key: "best_val_loss", Value: 1_000_000_000}, {Key: "config", Value: torch.Members{}}})
	}
	return v, nil
}

// nanoCompanions adds meta.pkl, if the tokenizer is in one, or the tokenizer's files, and the tokens
// that begin and end a text, if the tokenizer does not say them.
func (c *Checkpoint) nanoCompanions(v *Conversion) error {
	if c.vocabulary != nil && c.format == "nanogpt" {
		data, err := c.vocabulary.raw()
		v.Files = []SmallFile{{Name: folder.Characters, Data: data}}
		return err
	}
	if err := c.companions(v); err != nil || slices.Contains(v.Names(), folder.Generation) {
		return err
	}
	start, _ := c.Config.StartToken()
	ends := c.Config.EndTokens()
	id, ok := c.tokenizersEnd()
	if len(ends) == 0 || ok && start == id && slices.Equal(ends, []int{id}) {
		return nil // as it is read where no file says it
	}
	text := fmt.Appendf(nil, `{"bos_token_id":%d,"eos_token_id":`, start)
	text, err := indented(append(strictjson.AppendIDs(text, ends), '}'))
	v.Files = append(v.Files, SmallFile{Name: folder.Generation, Data: text})
	return err
}

// nanoState returns the tensors as the state dict of nanoGPT's model, whose head is the embedding.
func nanoState(tensors []weights.Tensor) (state torch.Members, err error) {
	var embedding weights.Tensor
	for _, t := range tensors {
		switch t.Name {
		case "wte.weight":
			embedding = t
		case "lm_head.weight":
			return nil, errHead // m is a model of another checkpoint
		}
		state = append(state, torch.Member{Key: "transformer." + t.Name, Value: turned(t)})
	}
	return append(state, torch.Member{Key: "lm_head.weight", Value: embedding}), nil
}
