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
