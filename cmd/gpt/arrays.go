package main

// Arrays of float32 that a command writes for NumPy and safetensors.

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"maps"

	"picogpt/cmd/gpt/internal/sessionfile"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
	"picogpt/internal/strictjson"
	"picogpt/model"
)

// An arrayOutput is the file of arrays that --out names.
type arrayOutput struct {
	Out   *string
	Force bool
}

func (o *arrayOutput) flags(f *cli.Flags, help string) {
	f.Add(&o.Out, "-o, --out FILE", help)
	f.Add(&o.Force, "--force", "write over what is to be written, if it is there")
}

// check refuses a file that cannot be written, before anything is computed.
func (o *arrayOutput) check(a *app) error {
	if o.Out == nil {
		return nil
	}
	if sessionfile.FormatOf(*o.Out) == "" {
		return usagef("--out %s: want a name that ends in .npy or .safetensors", quoteShort(*o.Out))
	}
	return outfile.FlagError("--out", outfile.Check(*o.Out, o.rules(a, sessionfile.FormatOf(*o.Out))))
}

// rules are those for a file of arrays.
func (o *arrayOutput) rules(a *app, f sessionfile.Format) outfile.Options {
	return a.writing(o.Force, arrayKind(f))
}

func arrayKind(f sessionfile.Format) outfile.Kind {
	if f == sessionfile.NPY {
		return outfile.NPY
	}
	return outfile.Safetensors
}

// write writes a file of arrays. Its metadata say what computed them, of what, and more.
func (o *arrayOutput) write(
	a *app, m *model.Model, p *prompt, more map[string]string, put func(*sessionfile.Writer) error,
	arrays ...sessionfile.Array,
) error {
	format, metadata := sessionfile.FormatOf(*o.Out), map[string]string{}
	if format == sessionfile.Safetensors {
		var err error
		if metadata, err = a.describe(m, p); err != nil {
			return err
		}
		maps.Copy(metadata, more)
	}
	var own error // not about the output
	err := outfile.WriteFile(context.Background(), *o.Out, o.rules(a, format),
		func(w io.Writer) error {
			f, err := sessionfile.Begin(w, format, metadata, arrays...)
			if err != nil {
				return err
			}
			if err = put(f); err == nil {
				return f.End()
			}
			var failed *fs.PathError
			if !errors.As(err, &failed) {
				own = err
			}
			return err
		})
	return fault.First(own, outfile.FlagError("--out", err))
}

// describe says which model computes arrays, and of what.
func (a *app) describe(m *model.Model, p *prompt) (map[string]string, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	digest, err := ck.Digest()
	d := map[string]string{"model": digest, "dtype": m.Format(), "version": versionName(),
		"tokens": string(strictjson.AppendIDs(nil, p.ids))}
	if p.asText {
		d["text"] = p.text
	}
	if edits := a.Edits.list(); len(edits) > 0 {
		b, _ := json.Marshal(edits) // strings always have JSON
		d["edits"] = string(b)
	}
	return d, err
}
