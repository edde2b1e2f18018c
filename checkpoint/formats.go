// The formats that a checkpoint may have, and what the first and last bytes of a file tell of them.
// Each format is a file of this package with one function, which returns what every format has: a
// config, tensors, and what else the files hold.

package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

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

	labels   json.RawMessage // id2label of an adapter, or nil
	adapters []AdapterReport
	bases    map[string]weights.Tensor // what they change, as they found it

	changes map[string]*change // of adapters, by the tensors' names
	lent    bool               // tensors are another checkpoint's, which closes them

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

	templates func() (map[string]*Template, error) // by name; nil: none
}

// openSafetensors opens a safetensors file, or an index of shards, with config.json in the same
// folder.
func openSafetensors(fsys fs.FS, name string, o Options) (found, error) {
	config, err := model.ReadConfig(fsys)
	if err != nil && (o.Heads == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return found{}, err
	}
	f := found{format: "safetensors", config: config}
	said := err == nil
	if f.tensors, err = weights.Open(fsys, name); err != nil {
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

// What the first and last bytes of a file tell of its format.

// A probe is the beginning and the end of a file.
type probe struct {
	name string
	size int64
	head []byte // at most 512 bytes
	tail []byte // at most 64
}

// look reads a probe of a regular file. Errors do not name the file.
func look(fsys fs.FS, name string) (probe, error) {
	file, size, err := folder.Open(fsys, name)
	if err != nil {
		return probe{}, err
	}
	defer file.Close()
	p := probe{name: name, size: size, head: make([]byte, min(size, 512))}
	if _, err := io.ReadFull(file, p.head); err != nil {
		return probe{}, folder.Cause(err)
	}
	_, far := file.(*folder.FarFile) // of which nothing is read that need not be
	if r, ok := file.(io.ReaderAt); ok && !far {
		p.tail = make([]byte, min(size, 64))
		if _, err := r.ReadAt(p.tail, size-int64(len(p.tail))); err != nil {
			return probe{}, folder.Cause(err)
		}
	}
	return p, nil
}

// begins reports whether the file begins with one of the magics.
func (p probe) begins(magics ...string) bool {
	return slices.ContainsFunc(magics, func(m string) bool {
		return bytes.HasPrefix(p.head, []byte(m))
	})
}

// isSafetensors reports whether the file is a length followed by as many bytes of JSON, or the JSON
// of an index. A file with the name of a safetensors file counts too, so that its errors are those
// of that format's reader.
func isSafetensors(p probe) bool {
	if strings.HasSuffix(p.name, ".safetensors") ||
		folder.Indexed(p.name) != "" && !isPyTorchIndex(p.name) {
		return true
	}
	return len(p.head) > 8 && p.head[8] == '{' &&
		binary.LittleEndian.Uint64(p.head) <= uint64(p.size-8)
}

// foreign says what a file of an unknown format is, and what the user should do.
func (p probe) foreign() string {
	const fetch = "fetch the model.safetensors or the pytorch_model.bin of the same model"
	text := strings.ToLower(string(p.head))
	switch {
	case p.size == 0:
		return "the file is empty: was the download cut short?"
	case strings.HasPrefix(text, "version https://git-lfs"):
		return "a Git LFS pointer, not the file itself: fetch that with git lfs pull"
	case strings.HasPrefix(strings.TrimSpace(text), "<!doctype html"),
		strings.HasPrefix(strings.TrimSpace(text), "<html"):
		return "a web page: the download went wrong"
	case p.begins("\x89HDF\r\n\x1a\n"):
		return "an HDF5 file of Keras, which is not read: " + fetch
	case p.begins("lmgg", "fmgg", "tjgg", "algg"):
		return "a file of ggml from before GGUF, of which there were three kinds: " + fetch
	case path.Ext(p.name) == ".distcp":
		return "a part of " + distributed("DIRECTORY")
	case path.Base(p.name) == distributedName && p.begins("\x80"):
		return "the index of " + distributed("DIRECTORY")
	case p.begins("\x93NUMPY"), path.Ext(p.name) == ".npz":
		return "arrays of NumPy, which are not read: save them by Hugging Face's names with " +
			"safetensors.numpy.save_file"
	case p.begins("\x80"):
		return "a pickle, but none of torch.save's"
	case len(p.head) > 262 && string(p.head[257:262]) == "ustar":
		return "a tar file, as PyTorch 0.1 wrote, which is not read: save it anew with torch.save"
	}
	switch path.Ext(p.name) {
	case ".json":
		return "a JSON file and no index of shards: name the folder that it is in"
	case ".msgpack":
		return "a file of Flax, which is not read: " + fetch
	case ".onnx":
		return "an ONNX graph, which is not read: " + fetch
	case ".ot":
		return "a file of rust-bert, which is not read: " + fetch
	}
	return fmt.Sprintf("not a checkpoint of a known format (it begins with %.12q): want "+
		"safetensors, PyTorch's, GGUF, TensorFlow's or llm.c's", p.head[:min(12, len(p.head))])
}
