package checkpoints

// Names of the hub, and its errors with what a user can do about them.

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"picogpt/checkpoint/hub"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
)

// TildeHint says what became of ~, as in --file=~/text or in quotes.
const TildeHint = "the shell makes a folder of ~ only at the beginning of a word without quotes, " +
	"as in -m ~/gpt2; $HOME works everywhere"

// Hint says what -m takes.
const Hint = "a checkpoint is a directory with config.json and *.safetensors or " +
	"pytorch_model.bin, as Hugging Face stores GPT-2, or nanoGPT's ckpt.pt, a .gguf file, OpenAI's " +
	"TensorFlow files, llm.c's model.bin; gpt pull NAME downloads one"

// PullName reads what gpt pull is given: a name, and a revision and a folder beside it.
func PullName(s, endpoint string, revision, folder *string) (w Wanted, err error) {
	if w, err = ParseWanted(s, endpoint); err != nil {
		return w, HintAtAddress(s, fault.Usage{Err: err})
	}
	if revision != nil {
		if w.Name.Revision != "" && w.Name.Revision != *revision {
			return w, fault.Usagef("%s and --revision %s: want one revision", w.Name,
				quote.Short(*revision, 40))
		}
		if w.Name, err = hub.ParseName(w.Name.Repo + "@" + *revision); err != nil {
			return w, fault.Usage{Err: err}
		}
	}
	if folder != nil {
		given := strings.Trim(*folder, "/")
		if w.Folder != "" && w.Folder != given {
			return w, fault.Usagef("%s and --subfolder %s: want one folder", w.Folder,
				quote.Short(*folder, 40))
		}
		w.Folder = given
	}
	return w, nil
}

// HintAtAddress names the repository of an address that is not the hub's.
func HintAtAddress(s string, err error) error {
	u, parsed := url.Parse(s)
	if parsed != nil || u.Host == "" {
		return err
	}
	repo, revision, _ := strings.Cut(strings.Trim(u.Path, "/"), "/tree/")
	name := hub.Name{Repo: repo, Revision: revision}
	if _, parsed := hub.ParseName(name.String()); parsed != nil {
		return err
	}
	return fault.Hint(err, "if that is a hub, the repository's name is "+name.String()+
		", and HF_ENDPOINT says where it is")
}

// HubError adds to an error of package hub about a repository what a user can do about it.
func HubError(name hub.Name, o hub.Options, err error) error {
	hint := ""
	var in *hub.FolderError
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
	case errors.Is(err, hub.ErrGated) && strings.Contains(err.Error(), "awaiting"):
		hint = "the owners decide; " + page + " shows the state"
	case errors.Is(err, hub.ErrGated) && strings.Contains(err.Error(), "token settings"):
		hint = "the token's settings are at https://huggingface.co/settings/tokens"
	case errors.Is(err, hub.ErrGated) && o.Token == "":
		hint = "ask for access at " + page + ", then set HF_TOKEN, or run hf auth login"
	case errors.Is(err, hub.ErrGated):
		hint = "ask for access at " + page + " as the owner of the token that is set"
	case errors.Is(err, hub.ErrToken):
		hint = "HF_TOKEN, or the file that hf auth login wrote, has it; a new one is at " +
			"https://huggingface.co/settings/tokens"
	case errors.Is(err, hub.ErrNoRevision):
		hint = page + "/tree/main lists branches and tags"
	case errors.As(err, &in):
		hint = fmt.Sprintf("--subfolder %s takes the checkpoint in it", quote.Plain(in.Folders[0], 80))
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

// WithoutFolder is a message without the folder that all of its files are in.
func WithoutFolder(message, dir string) string {
	return strings.TrimLeft(strings.TrimPrefix(message, dir), ": "+string(filepath.Separator))
}
