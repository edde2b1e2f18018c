package main

// gpt models: what the Hugging Face cache has, and what of it runs.

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"picogpt/checkpoint"
	"picogpt/hub"
	"picogpt/internal/amount"
	"picogpt/internal/checkpoints"
	"picogpt/internal/cli"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/internal/terminal"
	"picogpt/model"
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

// A cachedModel is a model in the cache.
type cachedModel struct {
	Name    string   `json:"name"` // as -m takes it
	Commit  string   `json:"commit"`
	Refs    []string `json:"refs"`
	Path    string   `json:"path"`
	Bytes   int64    `json:"bytes"`
	Format  string   `json:"format"`            // of the file, "" if it cannot be read
	DType   string   `json:"dtype"`             // "" if the model does not run
	Runs    bool     `json:"runs"`              // its config and tensors fit
	Problem string   `json:"problem,omitempty"` // why it does not
}

func (c *modelsCommand) Run(a *app) error {
	o := a.finder.CacheOptions()
	all, err := hub.List(o)
	if err != nil {
		return err
	}
	models := []cachedModel{}
	for _, s := range all {
		models = append(models, a.describeCached(s))
	}
	if c.JSON {
		return strictjson.Print(a.stdout, struct {
			Cache  string        `json:"cache"`
			Models []cachedModel `json:"models"`
		}{o.Cache, models})
	}
	if len(models) == 0 {
		a.Notef("no models in %s; gpt pull gpt2 downloads GPT-2", o.Cache)
		return nil
	}
	_, err = a.stdout.Write(modelsText(models))
	return err
}

// describeCached opens a snapshot as far as needed to say what it is.
func (a *app) describeCached(s *hub.Snapshot) cachedModel {
	m := cachedModel{Name: s.Name.String(), Commit: s.Commit, Refs: s.Refs, Path: s.Dir,
		Bytes: s.Size()}
	if m.Refs == nil {
		m.Refs = []string{}
	}
	c, err := a.finder.OpenAt(s.Dir, "", checkpoint.Options{})
	if err == nil {
		defer c.Close()
		m.Format = c.Format()
		m.DType, _, err = model.Check(c.Config, c.Tensors)
	}
	m.Runs = err == nil
	if err != nil {
		m.Problem = quote.OneLine(err)
	}
	return m
}

// modelsText is a table of models.
func modelsText(models []cachedModel) []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "NAME\tSIZE\tFORMAT\tRUNS\n")
	for _, m := range models {
		format, runs := m.Format, "yes"
		if m.DType != "" {
			format += " " + m.DType
		}
		if format == "" {
			format = "-"
		}
		if !m.Runs {
			runs = "no: " + checkpoints.WithoutFolder(m.Problem, m.Path)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", m.Name, amount.Size(m.Bytes), format, terminal.Printable(runs))
	}
	w.Flush()
	return b.Bytes()
}
