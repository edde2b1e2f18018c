package main

// gpt inspect: what a checkpoint holds, and what it needs.

import (
	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
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
	return fault.First(a.print(c.JSON, i, string(i.Text())), problem)
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
