// Command export writes files for the peers: a GPT-2 checkpoint as GGUF for llama.cpp and as ONNX
// for ONNX Runtime, and the work to do with it as JSON.
//
//	export -random gpt2 -out DIR    also writes the checkpoint itself, into DIR
//	export -demo -out DIR           also writes the checkpoint itself, into DIR
//	export -model CHECKPOINT -out DIR
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"picogpt/checkpoint/random"
	"picogpt/weights/demo"
)

func main() {
	from := flag.String("model", "", "a checkpoint `directory`")
	random := flag.String("random", "", "make a checkpoint of this `shape`: gpt2, gpt2-medium, gpt2-large, gpt2-xl")
	useDemo := flag.Bool("demo", false, "the demo checkpoint")
	out := flag.String("out", "", "`directory` to write into")
	prompt := flag.Int("prompt-tokens", 512, "length of the prompt to time")
	gen := flag.Int("gen-tokens", 64, "tokens to decode after it")
	flag.Parse()
	if err := export(*from, *random, *useDemo, *out, *prompt, *gen); err != nil {
		fmt.Fprintln(os.Stderr, "export:", err)
		os.Exit(1)
	}
}

func export(from, shaped string, useDemo bool, out string, prompt, gen int) error {
	if out == "" {
		return fmt.Errorf("-out: want a directory")
	}
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	switch {
	case shaped != "":
		shape, err := random.Shape(shaped)
		if err != nil {
			return err
		}
		if err := random.Write(context.Background(), out, shape, 1); err != nil {
			return err
		}
		from = out
	case useDemo:
		if err := os.WriteFile(filepath.Join(out, "config.json"), demo.Config(),
			0o666); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(out, "model.safetensors"), demo.Weights(),
			0o666); err != nil {
			return err
		}
		from = out
	case from == "":
		return fmt.Errorf("want -model, -random or -demo")
	}
	c, err := openCheckpoint(from)
	if err != nil {
		return err
	}
	defer c.file.Close()
	for _, t := range []ggmlType{ggmlF32, ggmlF16, ggmlQ8, ggmlQ4} {
		if err := writeTo(filepath.Join(out, t.String()+".gguf"),
			func(w io.Writer) error { return writeGGUF(w, c, t) }); err != nil {
			return err
		}
	}
	for _, bits := range []int{32, 8, 4} {
		if err := writeONNX(out, c, bits); err != nil {
			return err
		}
	}
	return writeJob(filepath.Join(out, "job.json"), c, from, prompt, gen)
}

// writeTo writes a file through a large buffer.
func writeTo(path string, write func(io.Writer) error) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := write(w); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
