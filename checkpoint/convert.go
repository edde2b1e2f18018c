package checkpoint

// A checkpoint in another format.

import (
	"context"
	"fmt"
	"io"
	"path"

	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/model"
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
		err := f.Write(ctx, file.Name, func(w io.Writer) error {
			_, err := w.Write(file.Data)
			return err
		})
		if err != nil {
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
