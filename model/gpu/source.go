package gpu

// The kernels' source text.

import (
	"embed"
	"strings"
)

//go:embed kernels
var files embed.FS

// Source returns the kernels as one text: kernels/gpt2.cl with its includes replaced by their
// files.
func Source() string {
	var all strings.Builder
	for line := range strings.Lines(read("gpt2.cl")) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), `#include "`); ok {
			line = read(strings.TrimSuffix(name, `"`))
		}
		all.WriteString(line)
	}
	return all.String()
}

// read returns an embedded file.
func read(name string) string {
	text, err := files.ReadFile("kernels/" + name)
	if err != nil {
		panic(err) // the build has other files
	}
	return string(text)
}
