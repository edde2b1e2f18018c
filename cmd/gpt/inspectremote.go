package main

// gpt inspect --remote: what a checkpoint at the hub holds, by requests for its headers.

import (
	"fmt"
	"path"
	"strings"

	"picogpt/hub"
	"picogpt/internal/amount"
	"picogpt/internal/checkpoints"
	"picogpt/internal/fault"
	"picogpt/model"
	"picogpt/weights"
)

// inspectRemote inspects a checkpoint at the hub. The error says why it cannot run or be shown.
func (a *app) inspectRemote(c *inspectCommand) (i *inspection, problem, err error) {
	if c.Path == nil {
		return nil, nil, usagef("--remote: want the name of a repository, as gpt2, found none")
	}
	name, err := checkpoints.HubName(*c.Path, nil)
	if err != nil {
		return nil, nil, err
	}
	o, err := a.finder.HubOptions()
	if err != nil {
		return nil, nil, err
	}
	o.Progress = func(p hub.Progress) { a.Notef("%s: %s", p.File, p.Note) }
	ctx, release := a.Graceful()
	defer release()
	defer a.ShowProgress(func() string { return "reading " + name.String() })()
	far, err := hub.Look(ctx, name, o)
	if err != nil {
		return nil, nil, checkpoints.HubError(name, o, err)
	}
	defer far.Close()
	i, problem, err = a.inspectFar(name, far)
	a.EndProgress()
	a.logf("commit %s, %s fetched", far.Commit, amount.Count(int(far.Fetched()), "byte"))
	return i, problem, err
}

// inspectFar reads the headers.
func (a *app) inspectFar(
	name hub.Name, far *hub.Remote,
) (i *inspection, problem, err error) {
	for _, f := range far.Files {
		if path.Ext(f.Name) != ".safetensors" || far.Config == nil {
			return nil, nil, fault.Hint(fmt.Errorf("%s: only safetensors beside a config.json can be "+
				"inspected from afar", f.Name),
				fmt.Sprintf("gpt pull %s downloads it (%s), then gpt inspect %s shows it", name,
					amount.Size(f.Size), name))

		}
	}
	config, err := model.ParseConfig(far.Config)
	if err != nil {
		return nil, nil, fmt.Errorf("%s/config.json: %w", name.Repo, err)
	}
	tensors, err := weights.FromReaders(far.Files...)
	if err != nil {
		return nil, nil, err
	}
	i = newInspection(name.String(), config, tensors)
	i.Source = "safetensors"
	var ignored []string
	if i.Format, ignored, problem = model.Check(config, tensors); problem == nil {
		i.ignore(ignored)
	} else {
		i.Problem = problem.Error()
	}
	head := hasHead(tensors)
	if head {
		i.Notes = append(i.Notes, "lm_head.weight counts as weights of its own: only its bytes "+
			"tell whether it is wte.weight once more")
	}
	i.measure(config, head, a.CacheDtype)
	return i, problem, nil
}

// hasHead reports whether there are weights for the logits beside wte.
func hasHead(tensors *weights.Tensors) bool {
	for _, t := range tensors.All() {
		if isHead(t.Name) {
			return true
		}
	}
	return false
}

// isHead reports whether a tensor is weights for the logits. A head that is wte once more is not
// read.
func isHead(name string) bool { return strings.HasPrefix(name, "lm_head.") }
