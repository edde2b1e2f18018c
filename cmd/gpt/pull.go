package main

// gpt pull: a checkpoint of the Hugging Face hub, into the cache that Python's tools have too.

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/quote"
	"picogpt/model"
)

type pullCommand struct {
	Name     string
	Files    []string
	Revision *string
	Folder   *string
	Verify   bool
	JSON     bool
}

func newPull(a *app) *cli.Command {
	c := &pullCommand{}
	return &cli.Command{
		Name: "pull", Group: "models",
		Short: "download a model from the Hugging Face hub",
		Args: []cli.Arg{
			cli.Word(&c.Name, "name",
				"OWNER/REPO, as openai-community/gpt2, or gpt2; NAME@REV is another revision"),
			cli.Words(&c.Files, "file",
				"files to download in place of those that a checkpoint needs"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&c.Revision, "--revision REV",
				"a branch, a tag, a commit, or refs/pr/22 for a pull request; default: main")
			f.Add(&c.Folder, "--subfolder FOLDER",
				"the folder of the repository that the checkpoint, or each FILE, is in")
			f.Add(&c.Verify, "--verify", `check the hashes of the files that are there too; damaged
				ones are downloaded again`)
			f.Add(&c.JSON, "--json", "print one JSON object, with name and path")
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *pullCommand) Run(a *app) error {
	if c.Name == checkpoints.DemoName {
		a.Notef("demo is a part of gpt: there is nothing to download")
		return c.print(a, c.Name)
	}
	path, err := c.pull(a)
	if err != nil {
		return err
	}
	return c.print(a, path)
}

// print prints what -m takes.
func (c *pullCommand) print(a *app, path string) error {
	return a.print(c.JSON, struct {
		Name string `json:"name"`
		Path string `json:"path"`
	}{c.Name, path}, path+"\n")
}

// offerPull asks, where a person can answer, whether a model is to be pulled that is not here.
// Where it is not wanted, opening the model says what is wrong. nil is no model.
func (a *app) offerPull(name *string) error {
	if name == nil || a.Terminal() == nil || !terminal.Is(a.files.Stdin) ||
		a.finder.CacheOptions().Offline {
		return nil
	}
	if _, err := a.finder.Locate(*name); !errors.Is(err, hub.ErrAbsent) {
		return nil
	}
	fmt.Fprintf(a.Stderr, "gpt: %s is not here; pull it from the Hugging Face hub? [y/N] ", *name)
	answer, ended := readLine(a.files.Stdin)
	if !ended {
		fmt.Fprintln(a.Stderr) // Ctrl-D leaves the cursor behind the question
	}
	if answer = strings.ToLower(answer); answer != "y" && answer != "yes" {
		return nil
	}
	_, err := (&pullCommand{Name: *name}).pull(a)
	return err
}

// readLine reads a line, and nothing after it, without white space at its ends. ended says that it
// had a line feed.
func readLine(r io.Reader) (line string, ended bool) {
	var read []byte
	for b := make([]byte, 1); ; {
		n, err := r.Read(b)
		read = append(read, b[:n]...)
		if ended = n == 1 && b[0] == '\n'; ended || err != nil {
			return strings.TrimSpace(string(read)), ended
		}
	}
}

// pull downloads the files, and returns the path of the checkpoint.
func (c *pullCommand) pull(a *app) (path string, err error) {
	o, err := a.finder.HubOptions()
	if err != nil {
		return "", err
	}
	w, err := checkpoints.PullName(c.Name, o.Endpoint, c.Revision, c.Folder)
	if err != nil {
		return "", err
	}
	if w.File != "" {
		c.Files = append([]string{w.File}, c.Files...)
	}
	if w.Part != "" && len(c.Files) > 0 {
		return "", usagef("%s and FILE: want one of them", c.Name)
	}
	name := w.Name
	o.Folder, o.Part = w.Folder, w.Part
	o.CheckConfig = func(config []byte) error {
		_, err := model.ParseConfig(config)
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewByteBar("pulling " + name.String())
	defer a.ShowBar(bar)()
	o.Progress = a.pullProgress(bar)
	o.Verify = c.Verify
	s, err := hub.Pull(ctx, name, o, c.Files...)
	if err == nil && len(c.Files) == 0 && !o.Verify && a.opens(w.At(s)) != nil {
		o.Verify = true // it may be damaged
		s, err = hub.Pull(ctx, name, o)
	}
	a.EndProgress()
	if err != nil {
		return "", checkpoints.HubError(name, o, err)
	}
	if w.File = ""; len(c.Files) == 1 {
		w.File = c.Files[0]
	}
	path = w.At(s)
	if len(c.Files) == 0 {
		a.tryPulled(name, path)
	}
	return path, nil
}

// tryPulled opens what was pulled, so that it is known now if it cannot run.
func (a *app) tryPulled(name hub.Name, path string) {
	if base, err := checkpoint.AdapterBase(path); err == nil {
		_, none := a.finder.OpenAt(path, "", checkpoint.Options{})
		if errors.Is(none, fs.ErrNotExist) {
			a.adapterPulled(name, base)
			return
		}
	}
	c, err := a.finder.OpenAt(path, "", checkpoint.Options{})
	if err == nil {
		defer c.Close()
		_, _, err = model.Check(c.Config, c.Tensors)
	}
	if err != nil {
		a.Notef("%s is in the cache, but does not run: %s", name,
			checkpoints.WithoutFolder(quote.OneLine(err), path))
		return
	}
	if _, err := c.Tokenizer(); err != nil {
		a.Notef("%s is in the cache, and runs on ids alone: %s", name,
			checkpoints.WithoutFolder(quote.OneLine(err), path))
	}
}

// opens returns why a checkpoint or an adapter cannot be opened, if its files are to blame.
func (a *app) opens(path string) error {
	if _, err := checkpoint.AdapterBase(path); err == nil {
		return nil
	}
	c, err := a.finder.OpenAt(path, "", checkpoint.Options{})
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.Tokenizer(); err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		return err
	}
	_, _, err = model.Check(c.Config, c.Tensors)
	return err
}

// adapterPulled says how an adapter is used, and whether its base is there.
func (a *app) adapterPulled(name hub.Name, base string) {
	if base == "" {
		a.Notef("%s is an adapter, which names no base model: gpt -m BASE --adapter %s", name, name)
		return
	}
	a.Notef("%s is an adapter of %s: gpt --adapter %s", name, base, name)
	if _, err := a.finder.Locate(base); errors.Is(err, hub.ErrAbsent) {
		a.Notef("gpt pull %s downloads its base model", base)
	} else if err != nil {
		a.Notef("its base model is not here: -m says which model takes its place")
	}
}

// pullProgress shows how far a pull is: on the bar, and a line for each file that is complete, for
// what happens on the way, and where there is no terminal for every tenth second.
func (a *app) pullProgress(b *terminal.Bar) func(hub.Progress) {
	const often = 10 * time.Second
	told, start := time.Now(), time.Now()
	return func(p hub.Progress) {
		b.SetFile(p.File, p.AllDone, p.AllTotal)
		switch {
		case p.Note != "":
			a.NoteDuring(b, "%s: %s", p.File, p.Note)
		case p.Complete:
			a.NoteDuring(b, "%s: %s", p.File, quote.Size(p.Done))
		case time.Since(told) > often && a.Terminal() == nil:
			rate := float64(p.AllDone) / time.Since(start).Seconds()
			left := time.Duration(float64(p.AllTotal-p.AllDone) / max(rate, 1) * 1e9)
			a.Notef("%s: %s of %s, %s/s, %v left", p.File, quote.Size(p.Done), quote.Size(p.Total),
				quote.Size(int64(rate)), left.Round(time.Second))
		default:
			return
		}
		told = time.Now()
	}
}
