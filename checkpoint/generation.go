// generation_config.json: the tokens that begin and end the texts of Hugging Face's generate, and how
// it chooses the others.

package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/model"
)

// readGeneration reads the generation_config.json beside the weights. A file of GGUF, TensorFlow's or
// llm.c's says itself what there is to say: one beside it is another checkpoint's.
//
// A file that cannot be read, or has another syntax than JSON's, has no effect, as in Hugging Face's
// library, but is told: texts may end elsewhere than their author meant. Else what ParseGeneration
// refuses is an error.
func (c *Checkpoint) readGeneration(o Options) error {
	formats := []string{"safetensors", "pytorch", "nanogpt", "mingpt"}
	if o.wordsOnly || !slices.Contains(formats, c.format) {
		return nil
	}
	data, err := c.read(folder.Generation)
	if errors.Is(err, fs.ErrNotExist) {
		c.readLegacyGeneration()
		return nil
	}
	var g model.Generation
	var others []string
	if err == nil {
		if g, others, err = model.ParseGeneration(data, c.Config.VocabSize); err != nil {
			err = fmt.Errorf("%s: %w", folder.Path(c.files, folder.Generation), err)
		}
	}
	if err != nil && json.Valid(data) {
		return fmt.Errorf("%w (without the file, config.json would say which tokens end a text)", err)
	} else if err != nil {
		note := fmt.Sprintf("%v, so config.json says which tokens begin and end a text", err)
		c.Notes, c.Unread = append(c.Notes, note), append(c.Unread, note)
		c.readLegacyGeneration()
		return nil
	}
	theirs := c.Config.EndTokens()
	switch {
	case len(g.EOSTokenIDs) > 0:
	case len(theirs) == 0: // then the tokenizer's token does, as without the file
		g.EOSTokenIDs = nil
	default:
		c.Notes = append(c.Notes, fmt.Sprintf("%s names no token that ends a text, and outranks "+
			"config.json, which names %v: no token does", folder.Generation, theirs))
	}
	c.Config.Generation = g
	c.noteNotTaken(folder.Generation, others)
	return nil
}

// readLegacyGeneration notes the fields in config.json, where they were before 2023.
func (c *Checkpoint) readLegacyGeneration() {
	if data, err := c.read(folder.Config); err == nil {
		c.noteNotTaken(folder.Config, model.LegacyGeneration(data))
	}
}

// noteNotTaken notes the fields of a file that are not obeyed.
func (c *Checkpoint) noteNotTaken(name string, fields []string) {
	const most = 12
	if n := len(fields) - most; n > 0 {
		fields = append(fields[:most:most], fmt.Sprintf("%d more", n))
	}
	if len(fields) > 0 {
		c.NotTaken = fmt.Sprintf("%s: not taken: %s", name, strings.Join(fields, ", "))
		c.Notes = append(c.Notes, c.NotTaken)
	}
}
