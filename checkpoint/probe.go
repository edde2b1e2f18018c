package checkpoint

// What the first and last bytes of a file tell of its format.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"picogpt/internal/folder"
)

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
	for _, m := range magics {
		if bytes.HasPrefix(p.head, []byte(m)) {
			return true
		}
	}
	return false
}

// isSafetensors reports whether the file is a length followed by as many bytes of JSON, or the JSON
// of an index. A file with the name of a safetensors file counts too, so that its errors are those
// of that format's reader.
func isSafetensors(p probe) bool {
	if strings.HasSuffix(p.name, ".safetensors") ||
		strings.HasSuffix(p.name, ".index.json") && !isPyTorchIndex(p.name) {
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
