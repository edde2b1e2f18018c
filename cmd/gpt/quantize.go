package main

// gpt quantize: a checkpoint in another number format.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"picogpt/weights"
	"picogpt/weights/demo"
)

type quantizeCommand struct {
	From  string `arg:"" name:"model" help:"the checkpoint to read, as for --model; \"demo\" where there is no such file is the embedded one"`
	To    string `arg:"" name:"out" help:"the directory to write; it is made"`
	Force bool   `help:"write over a model.safetensors that is there"`
}

func (c *quantizeCommand) Help() string {
	return `Writes config.json, model.safetensors in the format that --dtype names, and the tokenizer's files, if there are any.
The new checkpoint is used like any other; it is mapped, not converted, when it is opened. q8 and q4 hold the matrices
in blocks of 32 with a scale (q4 keeps the embedding in 8 bits); the layout is this project's own. Masks and heads of other
tasks are left out.

  gpt quantize ~/models/gpt2 ~/models/gpt2-q8 --dtype q8
  gpt -m ~/models/gpt2-q8 "In a shocking finding,"`
}

// companions are the files beside the weights that are copied along.
var companions = []string{"vocab.json", "merges.txt", "added_tokens.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"}

func (c *quantizeCommand) Run(a *app) error {
	if a.Dtype == "auto" {
		return hinted{usagef("--dtype: missing, want the format to write"), "--dtype q8 takes a quarter of f32's space, q4 less than a fifth"}
	}
	out := filepath.Join(c.To, "model.safetensors")
	if _, err := os.Stat(out); err == nil && !c.Force {
		return hinted{fmt.Errorf("%s: there already", out), "--force writes over it"}
	}
	a.globals.Model = &c.From
	if _, err := os.Stat(c.From); errors.Is(err, fs.ErrNotExist) && c.From == "demo" {
		a.globals.Model = nil
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	if err := os.MkdirAll(c.To, 0o777); err != nil {
		return err
	}
	end := a.showProgress(func() string { return "writing " + out })
	err = m.Save(context.Background(), out)
	end()
	if err != nil {
		return err
	}
	return a.copyCompanions(c.To)
}

// copyCompanions copies config.json and the tokenizer's files.
func (a *app) copyCompanions(to string) error {
	if a.Model == nil {
		return os.WriteFile(filepath.Join(to, "config.json"), demo.Config(), 0o666)
	}
	from := weights.Dir(*a.Model)
	if err := copyFile(from, to, "config.json"); err != nil {
		return err
	}
	for _, name := range companions {
		if err := copyFile(from, to, name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func copyFile(from, to, name string) error {
	src, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer src.Close()
	dst, err := os.Create(filepath.Join(to, name))
	if err != nil {
		return err
	}
	if _, err := io.Copy(dst, src); err != nil {
		dst.Close()
		return err
	}
	return dst.Close()
}
