package main

// gpt convert and gpt quantize: a checkpoint in another file format, or number format.

import (
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/outfile"
)

// newCheckpoint checks that the place of a conversion of the current checkpoint may be written.
// Call Close at the end.
func (a *app) newCheckpoint(
	path string, v *checkpoint.Conversion, force bool,
) (*checkpoints.New, error) {
	from, kind := "", outfile.Directory
	if v.File() {
		kind = outfile.GGUF
	} else if a.Model != nil {
		var err error
		if from, err = a.modelPath(); err != nil {
			return nil, err
		}
	}
	return checkpoints.Create(path, v, from, a.writing(force, kind))
}

// write loads the model, in the format that --dtype names, and writes the new checkpoint.
func (a *app) write(n *checkpoints.New) error {
	a.chosen.known = true                      // the processor: nothing is evaluated
	a.uses = func(string) bool { return true } // the conversion carries all tensors
	a.headless = true
	m, err := a.openModel()
	if err != nil {
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	if err := n.Write(ctx, m, &a.Console); err != nil {
		return err
	}
	for _, path := range n.Others() {
		a.Notef("%s: was there before and stays, though %s has no such file", path, a.modelName())
	}
	return nil
}

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
			fromArg(&c.From),
			cli.Word(&c.Out, "out", "what to write: the file of a GGUF, else a directory"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.To, "--to FORMAT", `file format to write: safetensors, gguf or nanogpt;
				default: gguf where OUT ends in .gguf, else safetensors`).
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
		return fault.Hint(usagef("--dtype %s: want auto, f32, f16 or bf16, which other programs "+
			"read", a.Dtype), "gpt quantize writes q8 and q4")
	}
	if c.To == "" {
		c.To = "safetensors"
		if strings.EqualFold(filepath.Ext(c.Out), ".gguf") {
			c.To = "gguf"
		}
	}
	v, err := a.conversion(c.From, c.To, (*checkpoint.Checkpoint).Portable)
	if err != nil {
		return err
	}
	out, err := a.newCheckpoint(c.Out, v, c.Force)
	if errors.Is(err, outfile.ErrEnding) {
		err = fault.Hint(err, "OUT.gguf is one file, of --to gguf; --to nanogpt makes "+
			"OUT/ckpt.pt, --to safetensors OUT/model.safetensors")
	}
	if err != nil {
		return err
	}
	defer out.Close()
	for _, note := range v.Notes {
		a.Notef("%s", note)
	}
	return a.write(out)
}

// fromArg is the argument of the checkpoint to read.
func fromArg(from *string) cli.Arg {
	return cli.Word(from, "model", `the checkpoint to read, as for --model; demo is the embedded
		one, unless there is a file of that name`)
}

// conversion makes an argument the current checkpoint, and converts it, if check finds no fault.
func (a *app) conversion(
	from, format string, check func(*checkpoint.Checkpoint) error,
) (*checkpoint.Conversion, error) {
	if err := a.fromArgument("model", from); err != nil {
		return nil, err
	}
	opened, err := a.open()
	if err == nil && check != nil {
		err = check(opened)
	}
	if err != nil {
		return nil, err
	}
	return opened.Convert(format)
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
			fromArg(&c.From),
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
	v, err := a.conversion(c.From, "safetensors", nil)
	if err != nil {
		return err
	}
	v.Files = slices.DeleteFunc(v.Files, func(f checkpoint.SmallFile) bool { return f.Assumed })
	out, err := a.newCheckpoint(c.To, v, c.Force)
	if err != nil {
		return err
	}
	defer out.Close()
	return a.write(out)
}
