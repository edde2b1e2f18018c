package main

// gpt pull: a checkpoint of the Hugging Face hub, into the cache that Python's tools have too.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"picogpt/checkpoint"
	"picogpt/hub"
	"picogpt/internal/amount"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/terminal"
	"picogpt/model"
)

type pullCommand struct {
	Name     string   `arg:"" name:"name"`
	Files    []string `arg:"" name:"file" optional:""`
	Revision *string  `placeholder:"REV"`
}

func (c *pullCommand) Help() string {
	return `Downloads a checkpoint from huggingface.co into the cache that Hugging Face's own tools
use: what Python has pulled is not downloaded again, and Python finds what gpt pulls. After it, -m
NAME runs the model in every command. The folder of the files is printed.

Of a repository it takes config.json, the weights (model.safetensors, else pytorch_model.bin, else
the one other checkpoint that gpt reads) and the tokenizer's files. Where there are several, as of
GGUF, it lists them, and FILE takes one; the path of that file is printed. A config that gpt cannot
run ends it before the weights come.

Each file is checked against its hash, and appears in the cache when all of it is right. A
connection that is cut goes on where it ended, within the run.

NAME is OWNER/REPO or gpt2, gpt2-medium, gpt2-large, gpt2-xl, distilgpt2; NAME@REV is another
revision than main: a branch, a tag, a commit, or refs/pr/22 for a pull request, which anybody may
have written.

The environment's variables are those of Hugging Face's tools:

HF_HOME, HF_HUB_CACHE	where the cache is; ~/.cache/huggingface/hub without them
HF_TOKEN, HF_TOKEN_PATH	the token for private and gated repositories, or its file; without them
	$HF_HOME/token, which hf auth login writes; it is sent to the hub and to no other host
HF_ENDPOINT	another hub than https://huggingface.co
HF_HUB_OFFLINE	1 for no request at all
HF_HUB_ETAG_TIMEOUT	seconds to wait for an answer (10)
HF_HUB_DOWNLOAD_TIMEOUT	seconds to wait for the next bytes (10)
HTTPS_PROXY, NO_PROXY	a proxy, and the hosts that need none

Examples:

  gpt pull gpt2 && gpt -m gpt2 "In a shocking finding,"
  gpt pull nferruz/ProtGPT2@refs/pr/1
  gpt pull OWNER/gpt2-gguf gpt2.Q8_0.gguf
  gpt -m "$(gpt pull distilgpt2)" "The cat"`
}

func (c *pullCommand) Run(a *app) error {
	name, err := hubName(c.Name, c.Revision)
	if err != nil {
		return err
	}
	o, err := a.hubOptions()
	if err != nil {
		return err
	}
	o.CheckConfig = func(config []byte) error {
		_, err := model.ParseConfig(config)
		return err
	}
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewByteBar("pulling " + name.String())
	defer a.ShowBar(bar)()
	o.Progress = a.pullProgress(bar)
	s, err := hub.Pull(ctx, name, o, c.Files...)
	a.EndProgress()
	if err != nil {
		return hubError(name, o, err)
	}
	path := s.Dir
	if len(c.Files) == 1 {
		path = filepath.Join(path, filepath.FromSlash(c.Files[0]))
	}
	if len(c.Files) == 0 {
		a.tryPulled(name, path)
	}
	_, err = a.stdout.WriteString(path + "\n")
	return err
}

// hubName reads NAME, NAME@REV, or NAME and a revision beside it.
func hubName(s string, revision *string) (hub.Name, error) {
	name, err := hub.ParseName(s)
	if err != nil {
		return name, hintAtAddress(s, fault.Usage{Err: err})
	}
	if revision == nil {
		return name, nil
	}
	if name.Revision != "" && name.Revision != *revision {
		return name, usagef("%s and --revision %s: want one revision", name, quoteShort(*revision))
	}
	name.Revision = *revision
	if name, err = hub.ParseName(name.Repo + "@" + *revision); err != nil {
		return name, fault.Usage{Err: err}
	}
	return name, nil
}

// hintAtAddress names the repository of a page's address, which is what a browser has.
func hintAtAddress(s string, err error) error {
	u, parsed := url.Parse(s)
	if parsed != nil || u.Host == "" {
		return err
	}
	repo, revision, _ := strings.Cut(strings.Trim(u.Path, "/"), "/tree/")
	name := hub.Name{Repo: repo, Revision: revision}
	if _, parsed := hub.ParseName(name.String()); parsed != nil {
		return err
	}
	return fault.Hint(err, "that repository's name is "+name.String())
}

// tryPulled opens what was pulled, so that it is known now if it cannot run.
func (a *app) tryPulled(name hub.Name, path string) {
	c, err := a.openCheckpoint(path, "", checkpoint.Options{})
	if err == nil {
		defer c.Close()
		_, _, err = model.Check(c.Config, c.Tensors)
	}
	if err != nil {
		a.Notef("%s is in the cache, but does not run: %s", name,
			withoutFolder(quote.OneLine(err), path))
		return
	}
	if _, err := c.Tokenizer(); err != nil {
		a.Notef("%s is in the cache, and runs on ids alone: %s", name,
			withoutFolder(quote.OneLine(err), path))
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
			a.NoteDuring(b, "%s: %s", p.File, amount.Size(p.Done))
		case time.Since(told) > often && a.Terminal() == nil:
			rate := float64(p.AllDone) / time.Since(start).Seconds()
			left := time.Duration(float64(p.AllTotal-p.AllDone) / max(rate, 1) * 1e9)
			a.Notef("%s: %s of %s, %s/s, %v left", p.File, amount.Size(p.Done), amount.Size(p.Total),
				amount.Size(int64(rate)), left.Round(time.Second))
		default:
			return
		}
		told = time.Now()
	}
}

// hubError adds to an error of package hub what a user can do about it.
func hubError(name hub.Name, o hub.Options, err error) error {
	hint := ""
	page := "https://huggingface.co"
	if o.Endpoint != "" {
		page = o.Endpoint
	}
	page += "/" + name.Repo
	switch {
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, hub.ErrNoRepo) && o.Token == "":
		hint = "for a private one set HF_TOKEN, or run hf auth login; names are OWNER/REPO, as " +
			"in " + page
	case errors.Is(err, hub.ErrNoRepo):
		hint = "the token that is set may not see it; names are OWNER/REPO, as in " + page
	case errors.Is(err, hub.ErrGated) && o.Token == "":
		hint = "ask for access at " + page + ", then set HF_TOKEN, or run hf auth login"
	case errors.Is(err, hub.ErrGated):
		hint = "ask for access at " + page + " as the owner of the token that is set"
	case errors.Is(err, hub.ErrToken):
		hint = "HF_TOKEN, or the file that hf auth login wrote, has it; a new one is at " +
			"https://huggingface.co/settings/tokens"
	case errors.Is(err, hub.ErrNoRevision):
		hint = page + "/tree/main lists branches and tags"
	case errors.Is(err, hub.ErrChoose):
		hint = fmt.Sprintf("gpt pull %s FILE takes one of them", name)
	case errors.Is(err, hub.ErrNoFile), errors.Is(err, hub.ErrNoWeights):
		hint = page + "/tree/" + revisionOf(name) + " lists the files"
	case errors.Is(err, hub.ErrOffline):
		hint = "without HF_HUB_OFFLINE and TRANSFORMERS_OFFLINE, gpt pull asks the hub"
	case errors.Is(err, hub.ErrUnreached):
		hint = "HTTPS_PROXY names a proxy, HF_ENDPOINT another hub"
	default:
		return err
	}
	return fault.Hint(err, hint)
}

func revisionOf(name hub.Name) string {
	if name.Revision == "" {
		return "main"
	}
	return name.Revision
}
