// Package folder reads the files of one checkpoint in a directory, in memory or in any other fs.FS.
// Files may be hostile: only regular ones are opened, and reading is bounded. The names of the files
// are here.
//
//   - [Dir] is a directory, and [Memory] files in memory. [Open] and [Read] open and read a file of
//     these or of another fs.FS.
//   - [Mapped] is the bytes of an open file: [Map] and [MapParts] map it if the system can.
//   - [FarFile] is a file on another machine, of which parts are read.
package folder

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"strings"
)

// Split returns the folder of the checkpoint at path and, if path is a file in that folder, the
// name of the file.
func Split(path string) (dir Dir, name string, err error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", cmp.Or(path, `""`), Cause(err))
	}
	if info.IsDir() {
		return Dir(path), "", nil
	}
	above, name := filepath.Split(path) // filepath.Dir would clean the path, but link/../x is not x
	return Dir(above), name, nil
}

// Dir is a directory; "" is the current one. Its files are *os.File, which can be mapped. Unlike
// os.DirFS it opens names that are not valid UTF-8, because users and directories may have such
// names.
type Dir string

// Path returns the path of a file in the directory.
func (d Dir) Path(name string) string {
	dir := string(d)
	if trimmed := strings.TrimRight(dir, separators); trimmed != filepath.VolumeName(dir) {
		dir = trimmed
	}
	switch {
	case dir == "":
		return name
	case name == ".":
		return dir
	case os.IsPathSeparator(dir[len(dir)-1]):
		return dir + name
	}
	return dir + string(filepath.Separator) + name
}

// separators are the characters between names in a path.
var separators = "/" + string(filepath.Separator)

// Open implements fs.FS.
func (d Dir) Open(name string) (fs.File, error) { return os.Open(d.Path(name)) }

// Stat implements fs.StatFS.
func (d Dir) Stat(name string) (fs.FileInfo, error) { return os.Stat(d.Path(name)) }

// Lstat implements fs.ReadLinkFS.
func (d Dir) Lstat(name string) (fs.FileInfo, error) { return os.Lstat(d.Path(name)) }

// ReadLink implements fs.ReadLinkFS.
func (d Dir) ReadLink(name string) (string, error) { return os.Readlink(d.Path(name)) }

// ReadDir implements fs.ReadDirFS.
func (d Dir) ReadDir(name string) ([]fs.DirEntry, error) { return os.ReadDir(d.Path(name)) }

// Path returns the path of a file of fsys for messages.
func Path(fsys fs.FS, name string) string {
	if p, ok := fsys.(interface{ Path(name string) string }); ok {
		return p.Path(name)
	}
	if dir := reflect.ValueOf(fsys); dir.Kind() == reflect.String { // what os.DirFS returns
		return Dir(dir.String()).Path(name)
	}
	return name
}

// Open opens a regular file and returns its size. It refuses anything else before opening it:
// opening a named pipe would wait for a writer. Errors do not name the file.
func Open(fsys fs.FS, name string) (fs.File, int64, error) {
	info, err := fs.Stat(fsys, name)
	if err != nil {
		return nil, 0, Cause(err)
	}
	if !info.Mode().IsRegular() {
		return nil, 0, fmt.Errorf("%s, want a regular file", Kind(info.Mode()))
	}
	file, err := fsys.Open(name)
	if err != nil {
		return nil, 0, Cause(err)
	}
	if info, err = file.Stat(); err != nil {
		file.Close()
		return nil, 0, Cause(err)
	}
	return file, info.Size(), nil
}

// Read returns the bytes of a regular file of at most limit bytes. Errors do not name the file.
func Read(fsys fs.FS, name string, limit int64) ([]byte, error) {
	file, size, err := Open(fsys, name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var b bytes.Buffer
	b.Grow(int(max(0, min(size, limit))) + bytes.MinRead)
	if _, err := b.ReadFrom(io.LimitReader(file, limit+1)); err != nil {
		return nil, Cause(err)
	}
	if int64(b.Len()) > limit {
		return nil, fmt.Errorf("more than %d bytes, want at most that", limit)
	}
	return b.Bytes(), nil
}

// Cause removes the operation and the path from a file error: our messages begin with the path.
func Cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// Kind returns the kind of a file in words, for example "a pipe".
func Kind(m fs.FileMode) string {
	kinds := map[fs.FileMode]string{0: "a regular file", fs.ModeDir: "a directory",
		fs.ModeSymlink: "a link", fs.ModeNamedPipe: "a pipe", fs.ModeSocket: "a socket"}
	return cmp.Or(kinds[m.Type()], "a device")
}

// The names of a checkpoint's files.

// What describes the model and its texts.
const (
	Config       = "config.json"            // the sizes, which GGUF's and llm.c's weights say
	Generation   = "generation_config.json" // the tokens that begin and end a text
	ChatTemplate = "chat_template.jinja"    // of conversations
	HParams      = "hparams.json"           // the sizes in OpenAI's own checkpoints

	ChatTemplates    = "additional_chat_templates" // a folder of others, by name
	ChatTemplateJSON = "chat_template.json"        // an older file of one
)

// Weights, and the indexes of weights in several files.
const (
	Safetensors      = "model.safetensors"
	SafetensorsIndex = "model.safetensors.index.json"
	PyTorch          = "pytorch_model.bin"
	PyTorchIndex     = "pytorch_model.bin.index.json"
	NanoGPT          = "ckpt.pt"
	TensorFlow       = "checkpoint" // names the files of TensorFlow's newest checkpoint
	LLMC             = "model.bin"
)

// Variants returns the pattern of the names that variants of a file have, as Hugging Face's libraries
// save them with variant="fp16": model.*.safetensors for model.safetensors.
func Variants(name string) string {
	ext := path.Ext(name)
	return strings.TrimSuffix(name, ext) + ".*" + ext
}

// Indexed returns the name of the file whose shards an index of this name lists: model.safetensors for
// model.safetensors.index.json, and for model.safetensors.index.fp16.json. "" if it is no index.
func Indexed(name string) string {
	of, rest, found := strings.Cut(name, ".index.")
	if !found || rest != "json" && path.Ext(rest) != ".json" {
		return ""
	}
	return of
}

// An adapter has a config, and one of the two files of weights.
const (
	AdapterConfig  = "adapter_config.json"
	Adapter        = "adapter_model.safetensors"
	AdapterPyTorch = "adapter_model.bin"
)

// The tokenizer is in one of these kinds of files, the first that is there.
const (
	Tokenizer     = "tokenizer.json"
	Vocab         = "vocab.json"         // with Merges
	Merges        = "merges.txt"         // with Vocab
	Encoder       = "encoder.json"       // OpenAI's name of Vocab
	VocabBPE      = "vocab.bpe"          // and of Merges
	VocabText     = "vocab.txt"          // WordPiece
	Pieces        = "spiece.model"       // sentencepiece's own file
	OtherPieces   = "tokenizer.model"    // its other name
	Characters    = "meta.pkl"           // nanoGPT's
	LLMCTokens    = "gpt2_tokenizer.bin" // llm.c's
	LLMCTokensToo = "tokenizer.bin"      // another name of it
)

// These add to a tokenizer of any kind but Tokenizer, Characters and llm.c's.
const (
	AddedTokens     = "added_tokens.json"
	SpecialTokens   = "special_tokens_map.json"
	TokenizerConfig = "tokenizer_config.json"
)
