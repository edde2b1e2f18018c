package outfile

// Kind: what a file holds, which the ending of its name must not deny.

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// A Kind is what is written to a file or a directory, in words.
type Kind string

// The kinds. A name without an ending, or with one that stands for no format, will do for each.
const (
	Any         Kind = "" // bytes that the user knows
	Text        Kind = "text"
	Formed      Kind = "text of a form" // that the user knows
	JSONLines   Kind = "JSON lines"
	JSON        Kind = "JSON"
	HTML        Kind = "HTML"
	SVG         Kind = "SVG"
	GGUF        Kind = "GGUF"
	NPY         Kind = "an array of NumPy"
	Safetensors Kind = "safetensors"
	Packed      Kind = "compressed by gpt"
	Session     Kind = "a session"
	Directory   Kind = "a directory"
)

// Endings are those of names that a kind may have, without the dot; a directory's stands for no
// format. JSON is text, and llama.cpp's prompt caches are called .bin.
func (k Kind) Endings() []string {
	switch k {
	case Text:
		return []string{"txt", "text", "md"}
	case Formed:
		return []string{"txt", "text", "md", "json", "jsonl", "ndjson", "csv", "tsv", "xml", "yaml",
			"yml", "html", "htm", "xhtml", "svg"}
	case JSONLines:
		return []string{"jsonl", "ndjson", "json", "txt"}
	case JSON:
		return []string{"json", "jsonl", "ndjson", "txt"}
	case HTML:
		return []string{"html", "htm", "xhtml"}
	case SVG:
		return []string{"svg"}
	case GGUF:
		return []string{"gguf"}
	case NPY:
		return []string{"npy"}
	case Safetensors:
		return []string{"safetensors"}
	case Packed:
		return []string{"gptz"}
	case Session:
		return []string{"session", "bin"}
	}
	return nil
}

// formats are the endings that stand for a format, ours and others'.
const formats = " gguf ggml ggjt safetensors pt pth bin ckpt pkl pickle h5 hdf5 keras onnx msgpack " +
	"pb tflite npy npz mat gptz parquet arrow feather orc avro csv tsv xls xlsx ods db sqlite json " +
	"jsonl ndjson yaml yml xml txt text md html htm xhtml doc docx odt rtf epub pdf ps eps svg png " +
	"jpg jpeg gif webp bmp tif tiff zip gz tgz tar bz2 xz zst lz4 br 7z rar "

// ErrEnding is wrapped by the error for a name whose ending stands for another format.
var ErrEnding = errors.New("its ending stands for another format")

// Check returns an error for a name whose ending stands for another format. A directory's may have
// any, if a slash follows.
func (k Kind) Check(name string) error {
	ending := strings.TrimPrefix(strings.ToLower(filepath.Ext(name)), ".")
	may := k.Endings()
	if k == Any || ending == "" || slices.Contains(may, ending) ||
		!strings.Contains(formats, " "+ending+" ") {
		return nil
	}
	want := "without ." + ending
	if last := len(may) - 1; last >= 0 {
		want = strings.Join(may[:last], ", .") + " or ." + may[last]
		want = "that ends in ." + strings.TrimPrefix(want, " or .")
	}
	return &endingError{fmt.Sprintf("%s: what is written is %s: want a name %s", name, k, want)}
}

type endingError struct{ text string }

func (e *endingError) Error() string { return e.text }
func (e *endingError) Unwrap() error { return ErrEnding }
