package main

// gpt quantize: a checkpoint in another number format.

import (
	"slices"

	"picogpt/checkpoint"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
)

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
		Run:     func(*cli.Flags) error { return c.Run(a) },
		Instead: map[string]string{"model": "the checkpoint is an argument: gpt quantize MODEL OUT"},
		Long: `
Writes config.json, model.safetensors in the format that --dtype names, and the
tokenizer's files, if there are any. The new checkpoint is used like any other; it is mapped, not
converted, when it is opened. q8 and q4 hold the matrices in blocks of 32 with a scale (q4 keeps the
embedding in 8 bits); the layout is this project's own. Masks are left out, and heads of other tasks
keep their number format. A weight that f16 or bf16 cannot hold is an error, and so is a matrix of
which all becomes zero; a line on stderr says where a block or a row does, or more than 0.1 % of a
matrix in f16.

A directory that is new appears when all of it is written. In one that is there, other files stay.
After an error or Ctrl-C nothing of the new checkpoint is left. The checkpoint that is read is never
written over.

Examples:

  gpt quantize ~/models/gpt2 ~/models/gpt2-q8 --dtype q8
  gpt -m ~/models/gpt2-q8 "In a shocking finding,"`,
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
