package show

// An inspection for people.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// Text lays an inspection out for people: what a model is and needs comes last, where a terminal
// still shows it.
func (i *Inspection) Text() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(&b, "%s\n", quote.Count(len(i.Tensors), "tensor"))
	for _, t := range i.Tensors {
		mark := ""
		switch {
		case t.Ignored:
			mark = "\tignored"
		case t.Head:
			mark = "\tfor gpt classify"
		case t.Added:
			mark = "\tzeros, in no file"
		}
		fmt.Fprintf(w, "  %s\t%s\t%v\t%d%s\n", t.Name, t.DType, t.Shape, t.Bytes, mark)
	}
	w.Flush()
	if len(i.Metadata) > 0 {
		fmt.Fprint(&b, "\nmetadata\n")
		for _, key := range slices.Sorted(maps.Keys(i.Metadata)) {
			fmt.Fprintf(&b, "  %q: %q\n", key, i.Metadata[key])
		}
	}
	fmt.Fprint(&b, "\nconfig\n")
	for _, line := range configLines(i.Config) {
		if from := i.IDsFrom[line[0]]; from != "" {
			line[1] += "\t" + from
		}
		fmt.Fprintf(w, "  %s\t%s\n", line[0], line[1])
	}
	w.Flush()
	fmt.Fprintf(w, "\nmodel\t%s\n", i.Model)
	fmt.Fprintf(w, "file\t%s\n", i.Source)
	for _, note := range i.Notes {
		fmt.Fprintf(w, "note\t%s\n", note)
	}
	if i.Vocab != "" {
		fmt.Fprintf(w, "tokenizer\t%s\n", i.Vocab)
	}
	fmt.Fprintf(w, "parameters\t%d\n", i.Parameters)
	fmt.Fprintf(w, "bytes\t%d\t%s\n", i.Bytes, quote.LongSize(i.Bytes))
	if i.Format != "" {
		fmt.Fprintf(w, "format\t%s\n", i.Format)
	}
	fmt.Fprintf(w, "memory at full context\t%d\t%s\n", i.Memory.Total, quote.LongSize(i.Memory.Total))
	fmt.Fprintf(w, "  weights\t%d\t%s\n", i.Memory.Weights, quote.LongSize(i.Memory.Weights))
	fmt.Fprintf(w, "  keys and values\t%d\t%s, of %d positions\n", i.Memory.KeyValues,
		quote.LongSize(i.Memory.KeyValues), i.Config.Positions)
	w.Flush()
	return b.Bytes()
}

// configLines lists a config's fields under their names in config.json.
func configLines(c model.Config) (lines [][2]string) {
	b, err := json.Marshal(c)
	if err != nil {
		return nil
	}
	strictjson.Members(b, func(key string, value json.RawMessage) error {
		lines = append(lines, [2]string{key, string(value)})
		return nil
	})
	return lines
}
