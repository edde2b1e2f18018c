package checkpoint

// The formats that a checkpoint may have. Each is a file of this package with one function, which
// gives what any format gives: a config, tensors, and what else the files hold.

import (
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// A format is one kind of file.
type format struct {
	is   func(p probe) bool // whether a file is of this kind, by its bytes
	open func(fsys fs.FS, name string, o Options) (found, error)

	// own reports whether found.vocabulary is set, from the folder alone; nil for never.
	own func(fsys fs.FS) bool
}

// formats are asked in this order.
func formats() []format {
	return []format{
		{is: isSafetensors, open: openSafetensors},
		{is: isGGUF, open: openGGUF, own: func(fs.FS) bool { return true }},
		{is: isLLMC, open: openLLMC, own: ownLLMC},
		{is: isTensorFlow, open: openTensorFlow},
		{is: isPyTorch, open: openPyTorch, own: hasMeta},
	}
}

// found is what a format's reader found.
type found struct {
	format  string // as Checkpoint.Format returns it
	config  model.Config
	tensors *weights.Tensors // with the names and the orientation of Hugging Face
	notes   []string         // Checkpoint.Notes

	// vocabulary is the tokenizer where the format has one of its own, inside or beside; nil where
	// tokenizer files, or GPT-2's tokenizer, are taken.
	vocabulary *vocabulary

	// asksGELU is set where the files do not say which form of GELU the model was trained with, so
	// that Options.GELU decides.
	asksGELU bool
}

// A vocabulary is a tokenizer that a format keeps in its own way.
type vocabulary struct {
	load func() (*tokenizer.Tokenizer, error)
	raw  func() ([]byte, error) // the bytes that it is read from: TokenizerDigest reads them
}

// openSafetensors opens a safetensors file or an index of several, with config.json beside it.
func openSafetensors(fsys fs.FS, name string, _ Options) (found, error) {
	config, err := model.ReadConfigFS(fsys)
	if err != nil {
		return found{}, err
	}
	tensors, err := weights.OpenFS(fsys, name)
	return found{format: "safetensors", config: config, tensors: tensors}, err
}

// openFile opens the file of that name, whose bytes tell its format.
func openFile(fsys fs.FS, name string, o Options) (found, error) {
	f, err := formatOf(fsys, name)
	if err != nil {
		return found{}, fmt.Errorf("%s: %w", folder.Path(fsys, name), err)
	}
	return f.open(fsys, name, o)
}

// formatOf returns the format of a file. Errors do not name the file.
func formatOf(fsys fs.FS, name string) (format, error) {
	p, err := look(fsys, name)
	if err != nil {
		return format{}, err
	}
	for _, f := range formats() {
		if f.is(p) {
			return f, nil
		}
	}
	return format{}, errors.New(p.foreign())
}
