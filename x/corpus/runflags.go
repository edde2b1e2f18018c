package main

// The flags that every command has: what is read, with which model, and where it is written.

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/internal/cli"
	"picogpt/internal/lines"
	"picogpt/internal/outfile"
	"picogpt/kernels"
	"picogpt/x/corpus/internal/input"
	"picogpt/x/corpus/internal/job"
	"picogpt/x/corpus/internal/storage"
)

type runFlags struct {
	Input              []string
	Form               string
	TextField, IDField string
	Special            bool
	OrderField         string

	Output        string
	Resume, Force bool
	MaxErrors     int

	Model, GELU, Dtype, CacheDtype string
	Threads                        int
	Device                         string

	Workers        int
	Share          string
	PieceBytes     bytesOf
	Quiet, Verbose bool
}

// add adds them.
func (r *runFlags) add(f *cli.Flags) {
	f.Add(&r.Input, "--input PATTERN", `files to read: local, gs:// or s3://, with wildcards, ** for
		folders of any depth; may be given several times`)
	f.Add(&r.Form, "--form, --input-format FORM [auto]", `jsonl (an object a line), lines (a text a
		line), text (a text a file), parquet; auto looks at the name and the first byte`).
		OneOf("auto", "jsonl", "lines", "text", "parquet")
	f.Add(&r.TextField, "--text-field NAME", `the field with the text; else text, or context and
		continuation, or tokens; for generate prompt, or tokens`)
	f.Add(&r.IDField, "--id-field NAME [id]", "the field with a record's id")
	f.Add(&r.Special, "--special", "read <|endoftext|> and other special tokens in the text as such")
	f.Add(&r.OrderField, "--order-field NAME",
		"add up in the order of this field, in place of the files' and lines'")

	f.Add(&r.Output, "-o, --output FOLDER",
		"where the results are written: a new folder, gs:// or s3://")
	f.Add(&r.Resume, "--resume", "continue a run that was interrupted")
	f.Add(&r.Force, "--force", "write over what an earlier run has left in the folder")
	f.Add(&r.MaxErrors, "--max-errors N [0]",
		"records that may be set aside before the exit status is 1")

	f.Add(&r.Model, "-m, --model DIR|FILE|NAME",
		"the checkpoint, as for gpt; default: $GPT_MODEL, or the embedded demo")
	r.Model = os.Getenv("GPT_MODEL")
	f.Add(&r.GELU, "--gelu FORM", "the form of GELU where the checkpoint does not say: tanh or erf").
		OneOf("tanh", "erf")
	f.Add(&r.Dtype, "--dtype TYPE [auto]",
		"the number format of the weights: f32, f16, bf16, q8, q4").
		OneOf("auto", "f32", "f16", "bf16", "q8", "q4")
	f.Add(&r.CacheDtype, "--cache-dtype TYPE [f32]",
		"the number format of keys and values: f32, f16 or q8").OneOf("f32", "f16", "q8")
	f.Add(&r.Threads, "--threads N", "threads of one process; 0 is one for each core")
	f.Add(&r.Device, "--device NAME", `what computes the model: cpu, auto (the first GPU that passes
		the probe), or a part of a GPU's name, on each worker's machine; wants a program built with
		-tags gpu; default: $GPT_DEVICE, or cpu`)
	r.Device = os.Getenv("GPT_DEVICE")

	f.Add(&r.Workers, "--workers N", `pieces that one process works on side by side; they share the
		model and the threads; 0 is 2`)
	f.Add(&r.Share, "--share I/N", `work on every N-th piece only, from the I-th: for N processes with
		one folder; after all of them, --resume finishes`)
	f.Add(&r.PieceBytes, "--piece-bytes SIZE [1MiB]", "how much input is one piece of work")
	f.Add(&r.Quiet, "-q, --quiet", "no progress and no summary")
	f.Add(&r.Verbose, "-v, --verbose", "show the runner's log")
}

// job is what the flags say, checked as far as nothing must be read.
func (f *runFlags) job(command string) (*job.Job, error) {
	switch {
	case f.Input == nil:
		return nil, usagef("want --input PATTERN")
	case f.Output == "" && command != job.Perplexity:
		return nil, usagef("want --output FOLDER")
	case f.Resume && f.Force:
		return nil, usagef("--resume and --force: want one of them")
	case f.MaxErrors < 0 || f.Workers < 0:
		return nil, usagef("--max-errors %d --workers %d: want 0 or more", f.MaxErrors, f.Workers)
	case f.Threads < 0 || f.Threads > kernels.MaxThreads:
		return nil, usagef("--threads %d: want 0 to %d", f.Threads, kernels.MaxThreads)
	}
	share, err := job.ParseShare(f.Share)
	if err != nil {
		return nil, usagef("--share %w", err)
	}
	path, err := f.modelPath()
	if err != nil {
		return nil, err
	}
	j := &job.Job{
		Command: command, Workers: cmp.Or(f.Workers, 2), Share: share,
		Input: input.Options{Form: f.Form, PieceBytes: int64(f.PieceBytes)},
		Fields: job.Fields{Text: f.TextField, ID: f.IDField, Order: f.OrderField,
			Special: f.Special},
		Model: job.Model{Name: f.Model, Path: path, GELU: f.GELU, Dtype: f.Dtype,
			CacheDtype: f.CacheDtype, Threads: f.Threads, Device: f.Device},
	}
	for _, pattern := range f.Input {
		if pattern == "" {
			return nil, usagef("--input: want the name of a file or a pattern, found nothing")
		}
		j.Input.Patterns = append(j.Input.Patterns, absolute(pattern))
	}
	if f.Output != "" {
		if err := outfile.Directory.Check(f.Output); err != nil {
			return nil, usagef("--output %w", err)
		}
		j.Output = absolute(f.Output)
		j.Work = storage.Join(j.Output, ".work")
	}
	return j, nil
}

// absolute is a name that means the same in a process that runs elsewhere.
func absolute(name string) string {
	if strings.Contains(name, "://") {
		return name
	}
	if path, err := filepath.Abs(name); err == nil {
		return path
	}
	return name
}

// modelPath is where the checkpoint of -m is: a path, or a name in the Hugging Face cache.
func (f *runFlags) modelPath() (string, error) {
	if f.Model == "" {
		return "", nil
	}
	if strings.Contains(f.Model, "://") {
		return "", usagef("--model %s: want a folder or a file that every worker has, on a volume or "+
			"in its image", f.Model)
	}
	_, err := os.Stat(f.Model)
	if err == nil || !errors.Is(err, fs.ErrNotExist) {
		return absolute(f.Model), err
	}
	if f.Model == "demo" { // as gpt has it, where there is no such path
		return "", nil
	}
	name, bad := hub.ParseName(f.Model)
	if bad != nil {
		return "", fmt.Errorf("%s: no such file or directory", f.Model)
	}
	o, err := hub.Environment()
	if err != nil {
		return "", err
	}
	found, err := hub.Find(name, o)
	if err != nil {
		return "", fmt.Errorf("%s: no such file or directory, and %w; gpt pull %s downloads it",
			f.Model, err, name)
	}
	return found.Dir, nil
}

// openModel errs as the workers would, where the checkpoint is here.
func (f *runFlags) openModel(path string) error {
	if path == "" {
		return nil
	}
	c, err := checkpoint.Open(path, checkpoint.Options{GELU: f.GELU})
	if err == nil {
		err = c.Close()
	}
	return err
}

// recordFields checks the names of --fields.
func (c *scoreCommand) recordFields() ([]string, error) {
	if c.Fields == nil {
		return nil, nil
	}
	known := append([]string{"source"}, lines.Fields()...)
	names, err := lines.ParseFields(c.Fields, known)
	switch {
	case err != nil:
		return nil, usagef("--fields: %w; the fields are %s", err, strings.Join(known, ", "))
	case slices.Contains(names, "top") && c.Top == 0:
		return nil, usagef("--fields: top wants --top K")
	}
	return names, nil
}
