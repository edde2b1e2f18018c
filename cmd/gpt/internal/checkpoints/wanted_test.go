package checkpoints

import (
	"strings"
	"testing"

	"picogpt/checkpoint/hub"
)

// TestNamesAsPeopleWriteThem: each form, with the repository, revision, folder, part and file that it
// means, or what is wrong with it.
func TestNamesAsPeopleWriteThem(t *testing.T) {
	const site = "https://huggingface.co/"
	name := func(repo, revision string) hub.Name { return hub.Name{Repo: repo, Revision: revision} }
	for s, want := range map[string]Wanted{
		"gpt2":                                {Name: name("gpt2", "")},
		"org/x@v1":                            {Name: name("org/x", "v1")},
		"org/x:Q8_0":                          {Name: name("org/x", ""), Part: "Q8_0"},
		"org/x@v1:q4_k_m":                     {Name: name("org/x", "v1"), Part: "q4_k_m"},
		"hf.co/org/x":                         {Name: name("org/x", "")},
		"hf.co/org/x:Q8_0":                    {Name: name("org/x", ""), Part: "Q8_0"},
		"hf://org/x":                          {Name: name("org/x", "")},
		"hf://gpt2":                           {Name: name("gpt2", "")},
		"hf://org/x@v1":                       {Name: name("org/x", "v1")},
		"hf://org/x@refs/pr/3/a/b.gguf":       {Name: name("org/x", "refs/pr/3"), File: "a/b.gguf"},
		"hf://org/x@v1/b.gguf":                {Name: name("org/x", "v1"), File: "b.gguf"},
		"hf://org/x/b.gguf":                   {Name: name("org/x", ""), File: "b.gguf"},
		"hf://org/x/sub/config.json":          {Name: name("org/x", ""), Folder: "sub"},
		"hf://models/org/x":                   {Name: name("org/x", "")},
		site + "gpt2":                         {Name: name("gpt2", "")},
		site + "gpt2/tree/main":               {Name: name("gpt2", "")},
		site + "gpt2/blob/main/x.gguf":        {Name: name("gpt2", ""), File: "x.gguf"},
		site + "org/x/":                       {Name: name("org/x", "")},
		site + "org/x?library=true":           {Name: name("org/x", "")},
		site + "org/x#usage":                  {Name: name("org/x", "")},
		site + "org/x/tree/main":              {Name: name("org/x", "")},
		site + "org/x/tree/v1":                {Name: name("org/x", "v1")},
		site + "org/x/tree/main/a/b":          {Name: name("org/x", ""), Folder: "a/b"},
		site + "org/x/tree/refs%2Fpr%2F3/sub": {Name: name("org/x", "refs/pr/3"), Folder: "sub"},
		site + "org/x/blob/main/b.gguf":       {Name: name("org/x", ""), File: "b.gguf"},
		site + "org/x/resolve/main/b.gguf?download=true": {Name: name("org/x", ""), File: "b.gguf"},
		site + "org/x/blob/main/model.safetensors":       {Name: name("org/x", "")},
		site + "org/x/blob/v1/sub/pytorch_model.bin":     {Name: name("org/x", "v1"), Folder: "sub"},
		site + "org/x/blob/main/a%20b.gguf":              {Name: name("org/x", ""), File: "a b.gguf"},
		site + "org/x/commit/0123456789abcdef0123456789abcdef01234567": {
			Name: name("org/x", "0123456789abcdef0123456789abcdef01234567")},
		site + "org/x/discussions/22":          {Name: name("org/x", "")},
		site + "org/x/commits/main":            {Name: name("org/x", "")},
		"http://mirror:8080/hub/org/x/tree/v1": {Name: name("org/x", "v1")},
	} {
		got, err := ParseWanted(s, "http://mirror:8080/hub/")
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", s, got, err, want)
		}
	}
	for s, want := range map[string]string{
		"https://example.com/org/x":                   "https://example.com/org/x: not a repository",
		"hf://datasets/org/x":                         "not the address of a model",
		site + "spaces/org/x":                         "not the address of a model",
		site + "org/x/blob/main/..%2F..%2Fetc/passwd": "leads out of the repository",
		"hf://org/x/../../b":                          "leads out of the repository",
		site + "org/x/tree/a%20b":                     "no name that git allows",
		"org/x:":                                      "no name has ':'",
		"org/x:a/b":                                   "not a repository",
		":Q8_0":                                       "no name has ':'",
		site:                                          "want the name of a repository",
		"hf://":                                       "want the name of a repository",
		"":                                            "want the name of a repository",
	} {
		if got, err := ParseWanted(s, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v, want %s", s, got, err, want)
		}
	}
}
