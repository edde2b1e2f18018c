package main

// gpt convert and gpt quantize: a checkpoint in another file format, or number format.

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
)

// gpt convert: a checkpoint in another file format.

type convertCommand struct {
	From  string
	Out   string
	To    string
	Force bool
}

func newConvert(a *app) *cli.Command {
	c := &convertCommand{}
	return &cli.Command{
		Name: "convert", Group: "models",
		Short: "write a checkpoint in the file format of other programs",
		Args: []cli.Arg{
			cli.Word(&c.From, "model",
				`the checkpoint to read, as for --model; demo is the embedded one, unless there is a
				file of that name`),
			cli.Word(&c.Out, "out", "what to write: the file of a GGUF, else a directory"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.To, "--to FORMAT",
				`file format to write: safetensors, gguf or nanogpt; default: gguf where OUT ends in
				.gguf, else safetensors`).
				OneOf("safetensors", "gguf", "nanogpt")
			f.Add(&c.Force, "--force",
				"write over a file or the files of a checkpoint that is there")
			a.flags(f, adapterFlag|geluFlag|threads|dtype|verbose)
		},
		Run:     func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{"model": "the checkpoint is an argument: gpt convert MODEL OUT"},
	}
}

func (c *convertCommand) Run(a *app) error {
	if a.Dtype == "q8" || a.Dtype == "q4" {
		return fault.Hint(
			usagef("--dtype %s: want auto, f32, f16 or bf16, which other programs read",
				a.Dtype), "gpt quantize writes q8 and q4")
	}
	if c.To == "" {
		c.To = "safetensors"
		if strings.EqualFold(filepath.Ext(c.Out), ".gguf") {
			c.To = "gguf"
		}
	}
	if err := a.fromArgument("model", c.From); err != nil {
		return err
	}
	opened, err := a.open()
	if err != nil {
		return err
	}
	if err := opened.Portable(); err != nil {
		return err
	}
	v, err := opened.Convert(c.To)
	if err != nil {
		return err
	}
	out, err := a.newCheckpoint(c.Out, v, c.Force)
	if errors.Is(err, outfile.ErrEnding) {
		err = fault.Hint(err,
			"OUT.gguf is one file, of --to gguf; --to nanogpt makes OUT/ckpt.pt, "+
				"--to safetensors OUT/model.safetensors")
	}
	if err != nil {
		return err
	}
	defer out.Close()
	for _, note := range v.Notes {
		a.Notef("%s", note)
	}
	a.uses = everyTensor // the conversion carries them
	return a.write(out)
}

// gpt quantize: a checkpoint in another number format.

type quantizeCommand struct {
	From  string
	To    string
	Force bool
}

func newQuantize(a *app) *cli.Command {
	c := &quantizeCommand{}
	return &cli.Command{
		Name: "quantize", Group: "models",
		Short: "write a checkpoint in another number format",
		Args: []cli.Arg{
			cli.Word(&c.From, "model",
				`the checkpoint to read, as for --model; demo is the embedded one, unless there is a
				file of that name`),
			cli.Word(&c.To, "out", "the directory to write; it is made if it is not there"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Force, "--force", "write over the files of a checkpoint that is there")
			a.flags(f, adapterFlag|geluFlag|threads|dtype|verbose)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{
			"model": "the checkpoint is an argument: gpt quantize MODEL OUT"},
	}
}

func (c *quantizeCommand) Run(a *app) error {
	if a.Dtype == "auto" {
		return fault.Hint(usagef("--dtype: missing, want the format to write"),
			"--dtype q8 takes a quarter of f32's space, q4 less than a fifth")
	}
	if err := a.fromArgument("model", c.From); err != nil {
		return err
	}
	opened, err := a.open()
	if err != nil {
		return err
	}
	v, err := opened.Convert("safetensors")
	if err != nil {
		return err
	}
	v.Files = slices.DeleteFunc(v.Files, func(f checkpoint.SmallFile) bool { return f.Assumed })
	out, err := a.newCheckpoint(c.To, v, c.Force)
	if err != nil {
		return err
	}
	defer out.Close()
	a.uses = everyTensor // the conversion carries them
	return a.write(out)
}
