package checkpoint

// The formats that a checkpoint may have. Each is a file of this package with one function, which
// returns what every format has: a config, tensors, and what else the files hold.

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
)

// A format is one kind of file.
type format struct {
	is   func(p probe) bool // reports whether a file is of this kind, by its bytes
	open func(fsys fs.FS, name string, o Options) (found, error)

	// own reports whether found.vocabulary will be set, from the folder alone; nil means never.
	own func(fsys fs.FS) bool
}

// formats returns all formats, in the order in which they are tried.
func formats() []format {
	return []format{
		{is: isSafetensors, open: openSafetensors},
		{is: isGGUF, open: openGGUF, own: func(fs.FS) bool { return true }},
		{is: isLLMC, open: openLLMC, own: ownLLMC},
		{is: isTensorFlow, open: openTensorFlow},
		{is: isPyTorch, open: openPyTorch, own: hasMeta},
	}
}

// found is what the reader of a format returns.
type found struct {
	format  string // as Checkpoint.Format returns it
	config  model.Config
	tensors *weights.Tensors // with Hugging Face's names and orientation
	notes   []string         // Checkpoint.Notes
	unread  []string         // Checkpoint.Unread

	// vocabulary is the tokenizer if the format has one of its own, in the file or beside it. It is
	// nil if tokenizer files, or GPT-2's tokenizer, are taken.
	vocabulary *vocabulary

	// words has the tokenizer's files, nil if they are in the folder of the weights.
	words fs.FS

	// rearranged is set if the tensors have other names or shapes than in a safetensors file.
	rearranged bool

	labels json.RawMessage // id2label of an adapter, or nil

	tied bool // the head is the embedding once more: both have the same bytes of the file

	// asksGELU is set if the files do not say the model's form of GELU, so that Options.GELU
	// decides.
	asksGELU bool
}

// tell adds notes of what has no effect.
func (f *found) tell(notes ...string) {
	f.notes, f.unread = append(f.notes, notes...), append(f.unread, notes...)
}

// tellUnknown tells which fields of a config.json of Hugging Face's are not known. Where the config is
// not theirs, or cannot be read, somebody else reads it.
func (f *found) tellUnknown(fsys fs.FS) {
	const name = folder.Config
	if f.format == "gguf" || f.format == "tensorflow" || f.format == "llm.c" {
		return // which do not read it
	}
	text, err := folder.Read(fsys, name, 1<<20)
	if err != nil {
		return
	}
	if unknown := model.UnknownKeys(text); len(unknown) > 0 {
		f.tell(fmt.Sprintf("%s: not known, and without effect: %s", folder.Path(fsys, name),
			quote.Some(unknown)))
	}
}

// A vocabulary is a tokenizer in a format's own form.
type vocabulary struct {
	load func() (*tokenizer.Tokenizer, error)
	raw  func() ([]byte, error) // the bytes that it is read from, for TokenizerDigest
}

// openSafetensors opens a safetensors file, or an index of shards, with config.json in the same
// folder.
func openSafetensors(fsys fs.FS, name string, o Options) (found, error) {
	config, err := model.ReadConfigFS(fsys)
	if err != nil && (o.Heads == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return found{}, err
	}
	f := found{format: "safetensors", config: config}
	said := err == nil
	if f.tensors, err = weights.OpenFS(fsys, name); err != nil {
		return found{}, err
	}
	all, renamed := restored(f.tensors)
	s, err := newStack(f.tensors.Name(), all)
	if err == nil {
		s.renamed = s.renamed || renamed
	}
	if said && (errors.Is(err, errNoEmbedding) || err == nil && s.plain()) {
		return f, nil // the model's own error names what is missing
	}
	if err == nil {
		f, err = s.rearranged(fsys, f.tensors, o)
	}
	if err != nil {
		err = errors.Join(err, f.tensors.Close())
	}
	return f, err
}

// rearranged returns the checkpoint of a safetensors file whose names, shapes or config are those
// of another program.
func (s *stack) rearranged(fsys fs.FS, file *weights.Tensors, o Options) (found, error) {
	f, fill, err := s.config(fsys, nil, o)
	if err != nil {
		return found{tensors: file}, err
	}
	source := weights.Source{Name: file.Name(), Metadata: file.Metadata(), Size: file.Size(),
		Close: file.Close}
	if source.Tensors, err = s.arranged(fill); err != nil {
		return found{tensors: file}, err
	}
	t, err := weights.New(source)
	if err != nil {
		return found{tensors: file}, err
	}
	f.format, f.tensors, f.rearranged = "safetensors", t, true
	return f, nil
}

// openFile opens the file of that name. Its bytes tell its format.
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
