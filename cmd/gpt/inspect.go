package main

// gpt inspect: what a checkpoint holds, and what it needs.

import (
	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

type inspectCommand struct {
	Path   *string
	Remote bool
	Folder *string
	JSON   bool
}

func newInspect(a *app) *cli.Command {
	c := &inspectCommand{}
	return &cli.Command{
		Name: "inspect", Group: "models",
		Short: "show what a checkpoint holds and how much memory it needs",
		Args: []cli.Arg{
			cli.OptionalWord(&c.Path, "model", `the checkpoint to show, as for
				--model, a .gptz file, or a file of --session`),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Remote, "--remote",
				"show a checkpoint at the Hugging Face hub, and download none of its weights")
			f.Add(&c.Folder, "--subfolder FOLDER",
				"with --remote: the folder of the repository that the checkpoint is in")
			f.Add(&c.JSON, "--json", "print one JSON object")
			a.flags(f, opens|cacheDtype)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Shows the config, each tensor with its shape and type, the number of parameters, the bytes
of the files, and the memory that the weights and one session at the model's full context need.
bos_token_id and eos_token_id are those of generation_config.json where it has them, and that file is
named beside them; with --json in ids_from.
Tensors that nothing uses are marked as ignored: masks, and heads of other tasks. The head of a
classifier is marked as one for gpt classify.

A checkpoint that cannot run is shown as far as it can be read. The reason goes to stderr, and the
exit status is 1.

Of a file that gpt compress has written it shows what the file wants: the model's digest, number
formats, window and streams, and how many bytes of text it holds.

Of a file that --session has written it shows the digest and the number formats of the model that it
belongs to, and how many tokens it holds; with --json their ids. It checks all checksums.

With --remote, MODEL is a repository of the hub, as for gpt pull; NAME:Q8_0 is one GGUF file of
several. The headers of safetensors, PyTorch's and GGUF files are read by requests for parts of
them, and the tokenizer's files, which have 1 or 2 MB; with -v, stderr says how many bytes came. No
weights are read: a head that is the embedding once more counts as weights of its own, unless the
header shows it.

Examples:

  gpt inspect
  gpt inspect ~/models/gpt2 --json
  gpt inspect --remote openai-community/gpt2-xl
  gpt inspect --remote OWNER/gpt2-gguf:Q8_0`,
	}
}

func (c *inspectCommand) Run(a *app) error {
	if c.Path != nil && *c.Path == "" {
		return usagef("model: want a directory or a file, found nothing")
	}
	if c.Folder != nil && !c.Remote {
		return usagef("--subfolder: want it with --remote, or a path")
	}
	if c.Path != nil && !c.Remote {
		if is, err := a.inspectPacked(*c.Path, c.JSON); is {
			return err
		}
		if is, err := a.inspectSession(*c.Path, c.JSON); is {
			return err
		}
	}
	inspect := a.inspectLocal
	if c.Remote {
		inspect = a.inspectRemote
	}
	i, problem, err := inspect(c)
	if err != nil {
		return err
	}
	if c.JSON {
		err = strictjson.Print(a.stdout, i)
	} else {
		_, err = a.stdout.Write(i.Text())
	}
	if err != nil {
		return err
	}
	return problem
}

// inspectLocal inspects a checkpoint on this machine. problem says why it cannot run.
func (a *app) inspectLocal(c *inspectCommand) (i *show.Inspection, problem, err error) {
	if c.Path != nil {
		if err := a.fromArgument("model", *c.Path); err != nil {
			return nil, nil, err
		}
	}
	opened, err := a.open()
	if err != nil {
		return nil, nil, err
	}
	i, problem = show.Inspect(a.modelName(), opened, a.CacheDtype)
	return i, problem, nil
}

// inspectRemote inspects a checkpoint at the hub. The error says why it cannot run or be shown.
func (a *app) inspectRemote(c *inspectCommand) (i *show.Inspection, problem, err error) {
	if c.Path == nil {
		return nil, nil, usagef("--remote: want the name of a repository, as gpt2, found none")
	}
	o, err := a.finder.HubOptions()
	if err != nil {
		return nil, nil, err
	}
	w, err := checkpoints.PullName(*c.Path, o.Endpoint, nil, c.Folder)
	if err != nil {
		return nil, nil, err
	}
	name, files := w.Name, []string(nil)
	if o.Folder, o.Part = w.Folder, w.Part; w.File != "" {
		files = []string{w.File}
	}
	o.Progress = func(p hub.Progress) { a.Notef("%s: %s", p.File, p.Note) }
	ctx, release := a.Graceful()
	defer release()
	defer a.ShowProgress(func() string { return "reading " + name.String() })()
	far, err := hub.Look(ctx, name, o, files...)
	if err != nil {
		return nil, nil, checkpoints.HubError(name, o, err)
	}
	defer far.Close()
	i, problem, err = show.InspectRemote(name, far,
		checkpoint.Options{GELU: a.GELU, Heads: a.Heads}, a.CacheDtype)
	if err != nil {
		err = checkpoints.HubError(name, o, err)
	}
	a.EndProgress()
	a.logf("commit %s, %s fetched", far.Commit, quote.Count(int(far.Fetched()), "byte"))
	return i, problem, err
}
