package main

// gpt quantize: a checkpoint in another number format.

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

type quantizeCommand struct {
	From  string `arg:"" name:"model"`
	To    string `arg:"" name:"out" help:"the directory to write; it is made if it is not there"`
	Force bool   `help:"write over the files of a checkpoint that is there"`
}

func (c *quantizeCommand) Help() string {
	return `Writes config.json, model.safetensors in the format that --dtype names, and the
tokenizer's files, if there are any. The new checkpoint is used like any other; it is mapped, not
converted, when it is opened. q8 and q4 hold the matrices in blocks of 32 with a scale (q4 keeps the
embedding in 8 bits); the layout is this project's own. Masks and heads of other tasks are left out.
A weight that f16 or bf16 cannot hold is an error.

A directory that is new appears when all of it is written. In one that is there, other files stay.
After an error or Ctrl-C nothing of the new checkpoint is left. The checkpoint that is read is never
written over.

Examples:

  gpt quantize ~/models/gpt2 ~/models/gpt2-q8 --dtype q8
  gpt -m ~/models/gpt2-q8 "In a shocking finding,"`
}

func (c *quantizeCommand) Run(a *app) error {
	switch {
	case a.Dtype == "auto":
		return hinted{usagef("--dtype: missing, want the format to write"),
			"--dtype q8 takes a quarter of f32's space, q4 less than a fifth"}
	case c.From == "":
		return usagef("model: want a directory or a file, found nothing")
	}
	a.globals.Model = &c.From
	if _, err := os.Lstat(c.From); errors.Is(err, fs.ErrNotExist) && c.From == "demo" {
		a.globals.Model = nil
	}
	out, err := a.newCheckpoint(c.To, c.Force)
	if err != nil {
		return err
	}
	defer out.close()
	a.chosen.known = true // the processor: nothing is evaluated
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	ctx, release := a.graceful()
	defer release()
	bar := newByteBar("writing " + filepath.Join(c.To, weightsName))
	defer a.showBar(bar)()
	return out.write(ctx, func(w io.Writer) error {
		return m.SaveTo(ctx, &countingWriter{w: w, bar: bar, total: m.SaveSize()})
	})
}
