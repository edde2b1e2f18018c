package show

// What a file of gpt compress wants and holds.

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"

	"picogpt/internal/quote"
	"picogpt/x/textzip"
)

// Packed lays the description of a .gptz file out for people.
func Packed(i textzip.Info) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", i.Name)
	fmt.Fprintf(w, "digest\t%s\n", i.Model)
	fmt.Fprintf(w, "tokenizer\t%s\n", i.Tokenizer)
	fmt.Fprintf(w, "format\t%s\n", Formats(i.Format, i.Cache))
	fmt.Fprintf(w, "arithmetic\t%d\n", i.Arithmetic)
	fmt.Fprintf(w, "window\t%d\toverlap %d\n", i.Window, i.Overlap)
	fmt.Fprintf(w, "streams\t%d\n", i.Streams)
	var kinds []string
	for _, kind := range []string{"model", "zstd", "stored"} {
		if n := i.Blocks[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}
	if len(kinds) == 0 {
		kinds = []string{"none"}
	}
	fmt.Fprintf(w, "blocks\t%s\n", strings.Join(kinds, ", "))
	fmt.Fprintf(w, "text\t%d\t%s\n", i.Text, quote.LongSize(i.Text))
	fmt.Fprintf(w, "bytes\t%d\t%s", i.Bytes, quote.LongSize(i.Bytes))
	if i.Text > 0 {
		fmt.Fprintf(w, ", %.3f bits a byte of text", 8*float64(i.Bytes)/float64(i.Text))
	}
	fmt.Fprintln(w)
	w.Flush()
	return b.Bytes()
}
