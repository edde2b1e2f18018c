package check

// The reference's reading of a checkpoint.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"picogpt/check/reference"
	"picogpt/checkpoint"
	"picogpt/model"
	"picogpt/weights"
)

// Read returns package reference's model of a checkpoint that the engine has opened. Where the
// format is safetensors, the reference reads the files itself: those that the engine has taken, or
// files if it is not nil. Tensors of other formats come through the engine's readers, and the note
// says so. That the tensors fit the configuration is checked before any of them is read; the error
// has both readings.
func Read(
	c *checkpoint.Checkpoint, files fs.FS, o reference.Options,
) (m *reference.Model, note string, err error) {
	if c.Portable() != nil {
		return nil, "", fmt.Errorf("%s: quantized weights, which the reference does not read: compare "+
			"the checkpoint that they were made of, in that number format", c.Tensors.Name())
	}
	_, _, mismatch := model.Check(c.Config, c.Tensors)
	if mismatch != nil { // the reference's opinion is wanted too, and no weights
		o.Before = func(int64) error { return errFits }
	}
	switch path := c.Tensors.Name(); {
	case c.Adapted():
		note = "the reference reads no adapters: it has the merged weights from the engine, and only " +
			"what follows is compared"
		m, err = converted(c, o)
		if err == nil && files != nil {
			m.Encoder, m.NoEncoder = reference.OpenEncoderFS(files)
		}
	case c.Rearranged():
		note = "the reference reads no names and shapes but GPT-2's own: it has config and weights from " +
			"the engine's reader, and only what follows is compared"
		m, err = converted(c, o)
	case c.Format() != "safetensors":
		note = fmt.Sprintf("the reference reads no %s: it has config and weights from the engine's "+
			"reader, and only what follows is compared", c.Format())
		m, err = converted(c, o)
	case files != nil:
		m, err = o.OpenFS(files)
	case strings.HasSuffix(path, ".json"): // an index
		m, err = o.Open(weights.Dir(path))
	default:
		m, err = o.Open(path)
	}
	switch {
	case mismatch == nil:
		return m, note, err
	case errors.Is(err, errFits):
		return nil, "", fmt.Errorf("%w; the reference finds no fault", mismatch)
	}
	return nil, "", fmt.Errorf("%w; the reference says: %w", mismatch, err)
}

// errFits ends the reference's reading where nothing but the shapes was asked for.
var errFits = errors.New("the tensors fit")

// converted is the reference's model of the engine's configuration and tensors.
func converted(c *checkpoint.Checkpoint, o reference.Options) (*reference.Model, error) {
	config, err := json.Marshal(c.Config)
	if err != nil {
		return nil, err
	}
	hp, err := reference.ParseHParams(config)
	if err != nil {
		return nil, err
	}
	m, err := o.New(hp, source{c.Tensors})
	if err == nil {
		m.Encoder, m.NoEncoder = reference.OpenEncoder(weights.Dir(c.Tensors.Name()))
	}
	return m, err
}

// A source is the engine's tensors for the reference.
type source struct{ *weights.Tensors }

func (s source) Names() (names []string) {
	for _, t := range s.All() {
		names = append(names, t.Name)
	}
	return names
}

func (s source) Shape(name string) ([]int, bool) {
	t, ok := s.Tensor(name)
	return t.Shape, ok
}

func (s source) Read(name string) ([]float64, error) {
	t, _ := s.Tensor(name)
	x, err := t.Float32s()
	return widen(x), err
}
