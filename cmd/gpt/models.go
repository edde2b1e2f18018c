package main

// gpt models: what the Hugging Face cache has, and what of it runs.

import (
	"picogpt/checkpoint"
	"picogpt/hub"
	"picogpt/internal/cli"
	"picogpt/internal/show"
	"picogpt/internal/strictjson"
)

type modelsCommand struct {
	JSON bool
}

func newModels(a *app) *cli.Command {
	c := &modelsCommand{}
	return &cli.Command{
		Name: "models", Group: "models",
		Short: "list the models that were downloaded",
		Flags: func(f *cli.Flags) {
			f.Add(&c.JSON, "--json", "print one JSON object")
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
		Long: `
Lists the models in the Hugging Face cache, where gpt pull and Python's tools put them:
the name that -m takes, the size of the files, the format and whether gpt runs the model, or why
not. Configs and headers are read, and no weights. HF_HUB_CACHE and HF_HOME say where the cache is.

Examples:

  gpt models
  gpt models --json`,
	}
}

func (c *modelsCommand) Run(a *app) error {
	o := a.finder.CacheOptions()
	all, err := hub.List(o)
	if err != nil {
		return err
	}
	models := []show.Model{}
	for _, s := range all {
		c, err := a.finder.OpenAt(s.Dir, "", checkpoint.Options{})
		models = append(models, show.Describe(s, c, err))
		if err == nil {
			c.Close()
		}
	}
	if c.JSON {
		return strictjson.Print(a.stdout, struct {
			Cache  string       `json:"cache"`
			Models []show.Model `json:"models"`
		}{o.Cache, models})
	}
	if len(models) == 0 {
		a.Notef("no models in %s; gpt pull gpt2 downloads GPT-2", o.Cache)
		return nil
	}
	_, err = a.stdout.Write(show.Models(models))
	return err
}
