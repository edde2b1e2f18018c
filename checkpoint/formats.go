// The formats that a checkpoint may have, and what the first and last bytes of a file tell of them.
// Each format is a file of this package with one function, which returns a Checkpoint.

package checkpoint

import (
	"bytes"
	"encoding/binary"
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
	open func(in *opening) (*Checkpoint, error)

	// own reports whether Checkpoint.vocabulary will be set, from the folder alone; nil means never.
	own func(fsys fs.FS) bool
}

// An opening is a checkpoint that is being opened. What was opened of it is closed after an error.
type opening struct {
	fsys fs.FS
	name string // of the file
	path string // for errors
	Options
	closers
}

// closers close what was opened.
type closers []func() error

func (c *closers) add(close func() error) { *c = append(*c, close) }

func (c *closers) close() (all error) {
	for _, f := range *c {
		all = errors.Join(all, f())
	}
	return all
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

// tell adds notes of what has no effect.
func (c *Checkpoint) tell(notes ...string) {
	c.Notes, c.Unread = append(c.Notes, notes...), append(c.Unread, notes...)
}

// tellUnknown tells which fields of a config.json of Hugging Face's are not known. Where the config is
// not theirs, or cannot be read, somebody else reads it.
func (c *Checkpoint) tellUnknown() {
	const name = folder.Config
	if listed("gguf tensorflow llm.c", c.format) {
		return // which do not read it
	}
	text, err := folder.Read(c.files, name, 1<<20)
	if err != nil {
		return
	}
	if unknown := model.UnknownKeys(text); len(unknown) > 0 {
		c.tell(fmt.Sprintf("%s: not known, and without effect: %s", folder.Path(c.files, name),
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
// folder. Names, shapes or the config may be those of another program.
func openSafetensors(in *opening) (*Checkpoint, error) {
	config, err := model.ReadConfig(in.fsys)
	if err != nil && (in.Heads == 0 || !errors.Is(err, fs.ErrNotExist)) {
		return nil, err
	}
	said := err == nil
	file, err := weights.Open(in.fsys, in.name)
	if err != nil {
		return nil, err
	}
	in.add(file.Close)
	all, renamed := restored(file)
	s, err := newStack(file.Name(), all)
	if said && (errors.Is(err, errNoEmbedding) || err == nil && s.plain() && !renamed) {
		// the model's own error names what is missing
		return &Checkpoint{format: "safetensors", Config: config, Tensors: file}, nil
	}
	if err != nil {
		return nil, err
	}
	c, fill, err := s.config(in.fsys, nil, in.Options)
	if err != nil {
		return nil, err
	}
	source := weights.Source{Name: file.Name(), Metadata: file.Metadata(), Size: file.Size(),
		Close: in.close}
	if source.Tensors, err = s.arranged(fill); err != nil {
		return nil, err
	}
	c.format, c.rearranged = "safetensors", true
	c.Tensors, err = weights.New(source)
	return c, err
}

// openFile opens the file of that name. Its bytes tell its format.
func openFile(fsys fs.FS, name string, o Options) (*Checkpoint, error) {
	in := &opening{fsys: fsys, name: name, path: folder.Path(fsys, name), Options: o}
	f, err := formatOf(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.path, err)
	}
	c, err := f.open(in)
	if err != nil {
		return nil, errors.Join(err, in.close())
	}
	return c, nil
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
	byName := map[string]string{
		".json":    "a JSON file and no index of shards: name the folder that it is in",
		".msgpack": "a file of Flax, which is not read: " + fetch,
		".onnx":    "an ONNX graph, which is not read: " + fetch,
		".ot":      "a file of rust-bert, which is not read: " + fetch,
	}
	if what := byName[path.Ext(p.name)]; what != "" {
		return what
	}
	return fmt.Sprintf("not a checkpoint of a known format (it begins with %.12q): want "+
		"safetensors, PyTorch's, GGUF, TensorFlow's or llm.c's", p.head[:min(12, len(p.head))])
}
