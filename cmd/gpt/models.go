package main

// gpt models: what the Hugging Face cache has, and what of it runs.

import (
	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/internal/cli"
	"picogpt/internal/strictjson"
	"picogpt/weights/demo"
)

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
	models := []show.Model{embedded()}
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
	if len(all) == 0 {
		a.Notef("no models in %s; gpt pull gpt2 downloads GPT-2", o.Cache)
	}
	_, err = a.stdout.Write(show.Models(models))
	return err
}

// embedded is the demo, which every gpt has.
func embedded() show.Model {
	c, err := checkpoint.OpenFS(demo.FS())
	if err == nil {
		defer c.Close()
	}
	return show.Embedded(checkpoints.DemoName, int64(len(demo.Weights())), c, err)
}
