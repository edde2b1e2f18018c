package checkpoint

// minGPT's model.pt, a bare state dict, and the config.json that minGPT writes in the same folder:
// {system, data, model, trainer}. minGPT writes the config before the sizes are known, so that all
// sizes except n_head come from the tensors, and n_head often from the name of a size.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// readConfig reads the config.json of a bare state dict: Hugging Face's or minGPT's own.
func (s *state) readConfig(fsys fs.FS) (model.Config, error) {
	const name = "config.json"
	if b, err := folder.Read(fsys, name, 1<<20); err == nil {
		if own, ok := minConfig(b); ok {
			c, err := s.minGPT(own)
			if err != nil {
				err = fmt.Errorf("%s: model: %w", folder.Path(fsys, name), err)
			}
			return c, err
		}
	}
	c, err := model.ReadConfigFS(fsys)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w, and %s does not say n_head: put the model's config.json beside it",
			err, s.path)
	}
	return c, err
}

// minConfig returns the "model" part of minGPT's config.json. ok is false if b is not one.
func minConfig(b []byte) (own map[string]json.RawMessage, ok bool) {
	all, err := members(b)
	if err != nil || all["model"] == nil || all["trainer"] == nil {
		return nil, false
	}
	own, err = members(all["model"])
	return own, err == nil
}

func members(b []byte) (map[string]json.RawMessage, error) {
	all := map[string]json.RawMessage{}
	err := strictjson.Members(b, func(key string, value json.RawMessage) error {
		all[key] = value
		return nil
	})
	return all, err
}

// minGPT returns the config of a state dict of minGPT.
func (s *state) minGPT(own map[string]json.RawMessage) (c model.Config, err error) {
	c = model.DefaultConfig()
	c.BOSTokenID, c.EOSTokenIDs, c.TieWordEmbeddings = nil, nil, false
	wte, wpe := s.tensors["transformer.wte.weight"], s.tensors["transformer.wpe.weight"]
	if wte == nil || wpe == nil || len(wte.Shape()) != 2 || len(wpe.Shape()) != 2 {
		return c, errors.New("the file has no transformer.wte.weight and transformer.wpe.weight")
	}
	c.VocabSize, c.Embd, c.Positions = wte.Shape()[0], wte.Shape()[1], wpe.Shape()[0]
	c.Inner = 4 * c.Embd
	for c.Layer = 0; s.tensors[fmt.Sprintf("transformer.h.%d.ln_1.weight", c.Layer)] != nil; {
		c.Layer++
	}
	if c.Head, err = minHeads(own); err != nil {
		return c, err
	}
	return c, c.Validate()
}

// minHeads returns n_head, or that of the size that model_type names.
func minHeads(own map[string]json.RawMessage) (int, error) {
	var heads *int
	if err := json.Unmarshal(own["n_head"], &heads); err == nil && heads != nil {
		return *heads, nil
	}
	sizes := map[string]int{"openai-gpt": 12, "gpt2": 12, "gpt2-medium": 16, "gpt2-large": 20,
		"gpt2-xl": 25, "gopher-44m": 16, "gpt-mini": 6, "gpt-micro": 4, "gpt-nano": 3}
	var name string
	if err := json.Unmarshal(own["model_type"], &name); err != nil || sizes[name] == 0 {
		return 0, fmt.Errorf("n_head: missing, and model_type: %s is none of minGPT's sizes",
			quote.Short(string(own["model_type"]), 40))
	}
	return sizes[name], nil
}
