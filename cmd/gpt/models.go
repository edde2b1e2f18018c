package main

// gpt models: the checkpoints in the Hugging Face cache.

import (
	"cmp"
	"errors"
	"fmt"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/weights/demo"
)

// gpt models list: what the cache has, and what of it runs.

// newModels is gpt models and its own commands.
func newModels(a *app) *cli.Command {
	list := newModelsList(a)
	return &cli.Command{
		Name: "models", Group: "models",
		Short:    "list, check and remove the models that were downloaded",
		Commands: []*cli.Command{list, newModelsVerify(a), newModelsRemove(a)},
		Default:  list,
	}
}

type modelsCommand struct {
	JSON bool
}

func newModelsList(a *app) *cli.Command {
	c := &modelsCommand{}
	return &cli.Command{
		Name:  "list",
		Short: "list the models (the default)",
		Flags: func(f *cli.Flags) {
			f.Add(&c.JSON, "--json", "print one JSON object")
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *modelsCommand) Run(a *app) error {
	o := a.finder.CacheOptions()
	all, err := hub.List(o)
	if err != nil {
		return err
	}
	demonstration, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{}) // which every gpt has
	if err == nil {
		defer demonstration.Close()
	}
	models := []show.Model{show.Embedded(checkpoints.DemoName, int64(len(demo.Weights())),
		demonstration, err)}
	for _, s := range all {
		c, err := a.finder.OpenAt(s.Dir, "", checkpoint.Options{})
		models = append(models, show.Describe(s, c, err))
		if err == nil {
			c.Close()
		}
	}
	if len(all) == 0 && !c.JSON {
		a.noteNone(o)
	}
	return a.print(c.JSON, struct {
		Cache  string       `json:"cache"`
		Models []show.Model `json:"models"`
	}{o.Cache, models}, string(show.Models(models)))
}

// noteNone tells that the cache is empty.
func (a *app) noteNone(o hub.Options) {
	a.Notef("no models in %s; gpt pull gpt2 downloads GPT-2", o.Cache)
}

// gpt models verify and rm: whether the files of the cache are right, and what is removed of it.

func newModelsVerify(a *app) *cli.Command {
	var names []string
	var json bool
	return &cli.Command{
		Name:  "verify",
		Short: "check the files of models against their hashes",
		Args: []cli.Arg{cli.Words(&names, "name",
			"models as gpt models lists them; all without it")},
		Flags: func(f *cli.Flags) {
			f.Add(&json, "--json", "print one JSON object for each, a line each")
		},
		Run: func(*cli.Flags) error { return a.verifyModels(names, json) },
	}
}

// A verifiedModel is what --json prints of a model.
type verifiedModel struct {
	Name       string   `json:"name"`
	Right      bool     `json:"right"`
	Files      int      `json:"files"`     // whose hash is known
	Unchecked  []string `json:"unchecked"` // the files whose hash the cache does not tell
	Bytes      int64    `json:"bytes"`
	Unfinished int64    `json:"unfinished"` // bytes of a download
	Problems   []string `json:"problems"`
}

func (a *app) verifyModels(names []string, json bool) error {
	o := a.finder.CacheOptions()
	all, err := hub.List(o)
	if err != nil {
		return err
	}
	if len(names) > 0 {
		all = nil
	}
	for _, name := range names {
		s, err := a.cached(name, o)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	if len(all) == 0 {
		a.noteNone(o)
	}
	var damaged, unchecked string
	for _, s := range all {
		wrong, unknown, err := a.verifyModel(s, json)
		if err != nil {
			return err
		}
		if name := s.Name.String(); wrong {
			damaged = cmp.Or(damaged, name)
		} else if unknown {
			unchecked = cmp.Or(unchecked, name)
		}
	}
	if damaged != "" {
		return fault.Hint(errors.New("files are damaged"), fmt.Sprintf("gpt pull --verify %s "+
			"downloads those of it again; gpt models rm %[1]s removes it", damaged))
	}
	if unchecked != "" {
		return fault.Hint(errors.New("not all files could be checked"),
			fmt.Sprintf("gpt pull --verify %s asks the hub for their hashes", unchecked))
	}
	return nil
}

// verifyModel prints what is wrong with a model, or that it is right. It reports whether a file is
// wrong, and whether one could not be checked or there is none.
func (a *app) verifyModel(s *hub.Snapshot, json bool) (wrong, unchecked bool, err error) {
	ctx, release := a.Graceful()
	defer release()
	bar := terminal.NewByteBar("verifying " + s.Name.String())
	defer a.ShowBar(bar)()
	total, done, files := s.Size(), int64(0), 0
	lines, problems, unknown := "", []string{}, []string{}
	bar.SetBytes(0, total)
	err = s.Verify(ctx, func(f hub.Checked) {
		done += f.Size
		bar.SetBytes(done, total)
		files++
		switch {
		case errors.Is(f.Err, hub.ErrNoHash):
			unknown = append(unknown, f.File)
		case f.Err != nil:
			problems = append(problems, fmt.Sprintf("%s: %v", terminal.Printable(f.File), f.Err))
			lines += fmt.Sprintf("%s: %s\n", s.Name, problems[len(problems)-1])
		}
	})
	a.EndProgress()
	if err != nil {
		return false, false, err
	}
	wrong, unchecked = lines != "", len(unknown) > 0 || files == 0
	switch {
	case unchecked:
		lines += fmt.Sprintf("%s: %d of %s checked", s.Name, files-len(unknown),
			quote.Count(files, "file"))
		if len(unknown) > 0 {
			lines += ": the cache does not know the hash of " + quote.Some(unknown)
		}
		lines += "\n"
	case !wrong:
		lines = fmt.Sprintf("%s: %s, %s: right\n", s.Name, quote.Count(files, "file"),
			quote.Size(done))
	}
	if left := s.Unfinished(); left > 0 {
		lines += fmt.Sprintf("%s: %s of an unfinished download: gpt pull %[1]s continues it\n",
			s.Name, quote.Size(left))
	}
	return wrong, unchecked, a.print(json, verifiedModel{s.Name.String(), !wrong && !unchecked,
		files - len(unknown), unknown, done, s.Unfinished(), problems}, lines)
}

// cached returns the snapshot of a name in the cache.
func (a *app) cached(name string, o hub.Options) (*hub.Snapshot, error) {
	n, err := checkpoints.HubName(name, o.Endpoint)
	if err != nil {
		return nil, err
	}
	s, err := hub.Find(n, o)
	return s, absent(err)
}

// absent adds to an error about a model that is not in the cache what is.
func absent(err error) error {
	if errors.Is(err, hub.ErrAbsent) {
		err = fault.Hint(err, "gpt models lists what is there")
	}
	return err
}

func newModelsRemove(a *app) *cli.Command {
	var first string
	var more []string
	var json bool
	return &cli.Command{
		Name:  "rm",
		Short: "remove models from the cache",
		Args: []cli.Arg{
			cli.Word(&first, "name",
				"a model as gpt models lists it; NAME@REV is one revision of it"),
			cli.Words(&more, "name", "more of them"),
		},
		Flags: func(f *cli.Flags) {
			f.Add(&json, "--json", "print one JSON object for each, a line each")
		},
		Run: func(*cli.Flags) error {
			return a.removeModels(append([]string{first}, more...), json)
		},
	}
}

// removeModels removes all of them, or none where one is not there: the words may be a prompt.
func (a *app) removeModels(words []string, json bool) error {
	o := a.finder.CacheOptions()
	names := make([]hub.Name, len(words))
	for i, word := range words {
		var err error
		if names[i], err = checkpoints.HubName(word, o.Endpoint); err == nil {
			err = hub.CheckRemove(names[i], o)
		}
		if err != nil {
			return absent(err)
		}
	}
	for _, name := range names {
		removed, freed, err := hub.Remove(name, o)
		if err != nil {
			return err
		}
		a.Notef("removed %s: %s", removed, quote.Size(freed))
		if !json {
			continue
		}
		if err := strictjson.Print(a.stdout, struct {
			Name  string `json:"name"`
			Bytes int64  `json:"bytes"`
		}{removed.String(), freed}); err != nil {
			return err
		}
	}
	return nil
}
