package main

// gpt trace: what the model computes inside, as arrays.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/show"
	"picogpt/inside"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
	"picogpt/model"
	"picogpt/model/stack"
)

type traceCommand struct {
	Prompt promptSource
	Points *string
	To     arrayOutput
	NPY    *string
	Limit  quote.Bytes
	Of     metricFlags

	Positions, Heads *string

	view   inside.View
	metric *inside.Metric // nil: values are written
}

func newTrace(a *app) *cli.Command {
	c := &traceCommand{}
	return &cli.Command{
		Name: "trace", Group: "look",
		Short: "write what the model computes inside, as arrays",
		Args:  []cli.Arg{wordsArg(&c.Prompt.Text)},
		Flags: func(f *cli.Flags) {
			c.Prompt.flags(f)
			c.Prompt.addBOS(f)
			f.Add(&c.Points, "--points NAMES",
				"what is written: names of points with commas between them; * stands for anything")
			f.Add(&c.Positions, "--positions LIST",
				"write these positions alone, such as 0,5,-1: from 0, -1 is the last")
			addHeads(f, &c.Heads, "write these heads alone")
			c.To.flags(f, "write all arrays to FILE, which ends in .safetensors")
			f.Add(&c.NPY, "--npy DIR", "write each array to a file POINT.npy in DIR")
			f.Add(&c.Limit, "--limit SIZE [1GiB]", "refuse to write more than that")
			f.Add(&c.Of.Target, "--gradient-of TOKEN", `write the gradient of the logit of TOKEN after
				the text by the values, not the values`)
			f.Add(&c.Of.Against, "--against TOKEN", "with --gradient-of: its logit less that of this token")
			f.Add(&c.Of.LogProb, "--logprob", "with --gradient-of: the logarithm of its probability")
			a.flags(f, evaluates|edited|cjkSpaces)
		},
		Run: func(*cli.Flags) error { return c.Run(a) },
	}
}

func (c *traceCommand) Run(a *app) error {
	c.view = inside.View(a.Edits.As)
	if err := c.check(a); err != nil {
		return err
	}
	ck, err := a.open()
	if err != nil {
		return err
	}
	points, err := c.points(ck.Config.Layer)
	if err != nil {
		return err
	}
	p, err := c.Prompt.given(a)
	if err != nil {
		return err
	}
	names, err := a.nameTokens(c.Prompt.Special, &p)
	if err != nil {
		return err
	}
	if c.Of.Target != nil {
		q, err := c.Of.metric(names)
		if err != nil {
			return err
		}
		c.metric = &q
	}
	err = cmp.Or(a.Edits.within(len(p.ids)), show.CheckTokens(ck.Config, p.ids))
	if err != nil {
		return err
	}
	a.headless = c.metric == nil
	m, err := a.openModel()
	if err != nil {
		return err
	}
	arrays, err := inside.Arrays(m, len(p.ids), points...)
	if err != nil {
		return err
	}
	about := map[string]string{"view": a.Edits.As}
	if arrays, err = c.some(m, arrays, len(p.ids), about); err != nil {
		return err
	}
	if err := c.checkSize(a, arrays, len(p.ids)); err != nil {
		return err
	}
	defer a.ShowProgress(func() string { return "reading " + quote.Count(len(p.ids), "token") })()
	if c.NPY != nil {
		return c.writeFolder(a, m, &p, arrays)
	}
	if c.metric != nil {
		b, _ := json.Marshal(c.metric) // a metric always has JSON
		about["gradient"] = string(b)
		a.noteRounding(m)
	}
	return c.To.write(a, m, &p, about, func(f *arrayWriter) error {
		return c.read(m, &p, arrays, f.writeAt)
	}, shapes(arrays)...)
}

// check refuses what can be refused before anything is read.
func (c *traceCommand) check(a *app) error {
	switch {
	case c.Of.Target == nil && (c.Of.Against != nil || c.Of.LogProb):
		return usagef("--against and --logprob: want --gradient-of TOKEN with them")
	case c.Of.Target != nil && c.view == inside.TransformerLens:
		return usagef("--gradient-of and --as transformerlens: gradients are those by raw values")
	case c.Points == nil:
		return fault.Hint(usagef("want --points NAMES"), "gpt trace --help lists them; --points "+
			"'resid_post.*' is the stream after each layer")
	case (c.To.Out == nil) == (c.NPY == nil):
		return usagef("want --out FILE or --npy DIR")
	case c.To.Out != nil && arrayFormatOf(*c.To.Out) != safetensorsArrays:
		return usagef("--out %s: want a name that ends in .safetensors; --npy DIR writes files of "+
			"NumPy", quoteShort(*c.To.Out))
	case c.To.Out != nil && outfile.IsStream(*c.To.Out):
		return usagef("--out %s: want a file, because arrays are not written in order",
			quoteShort(*c.To.Out))
	}
	c.Prompt.declare(a)
	if c.NPY != nil {
		if err := outfile.Directory.Check(*c.NPY); err != nil {
			return outfile.FlagError("--npy", err)
		}
	}
	return fault.First(a.onProcessor("gpt trace"), c.To.check(a))
}

// points returns the points that --points names.
func (c *traceCommand) points(layers int) (all []model.Point, err error) {
	for name := range strings.SplitSeq(*c.Points, ",") {
		name = stack.FromEnd(strings.TrimSpace(name), layers)
		p, err := model.ParsePoint(name)
		if err != nil {
			matches := matchPoints(name, layers)
			if matches == nil {
				return nil, usagef("--points: %w", err)
			}
			all = append(all, matches...)
			continue
		}
		if why := inModel(model.Config{Layer: layers, Head: 1}, model.Edit{At: p}); why != "" {
			return nil, usagef("--points %s: %s", p, why)
		}
		all = append(all, p)
	}
	return all, nil
}

// matchPoints returns the points whose names match a pattern with *.
func matchPoints(pattern string, layers int) (all []model.Point) {
	if !strings.Contains(pattern, "*") {
		return nil
	}
	for _, name := range model.PointNames() {
		p, _ := model.ParsePoint(name) // that is one
		for layer := range layers {
			if p.Layer = layer; p.Kind.Once() && layer > 0 {
				break
			}
			if ok, _ := path.Match(pattern, p.String()); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// some leaves what --positions and --heads name of arrays, and tells about it.
func (c *traceCommand) some(m *model.Model, arrays []inside.Array, tokens int,
	about map[string]string) ([]inside.Array, error) {
	heads, err := parseHeads(c.Heads, m.Config())
	if err != nil {
		return nil, err
	}
	var positions []int
	if c.Positions != nil {
		for text := range strings.SplitSeq(*c.Positions, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(text))
			if err == nil {
				n, err = position("--positions", n, tokens)
			}
			if err != nil {
				return nil, usagef("--positions %s: want %d to %d", quoteShort(text), -tokens, tokens-1)
			}
			positions = append(positions, n)
		}
		slices.Sort(positions)
		positions = slices.Compact(positions)
		about["positions"] = string(strictjson.AppendIDs(nil, positions))
	}
	if heads != nil {
		about["heads"] = strings.Trim(fmt.Sprint(heads), "[]")
	}
	if arrays = inside.Select(arrays, positions, heads); arrays == nil {
		return nil, usagef("--heads %s: none of --points is of their layers", quoteShort(*c.Heads))
	}
	return arrays, nil
}

// addHeads adds --heads.
func addHeads(f *cli.Flags, p **string, help string) {
	f.Add(p, "--heads LIST", help+": LAYER.HEAD with commas between them, such as 5.1,6.9")
}

// parseHeads reads a value of --heads, nil if there is none.
func parseHeads(list *string, c model.Config) (heads []inside.Head, err error) {
	if list == nil {
		return nil, nil
	}
	for text := range strings.SplitSeq(*list, ",") {
		e, err := parseAblate(strings.TrimSpace(text), mostLayers)
		if err != nil || e.Head == model.AllHeads {
			return nil, usagef("--heads %s: want LAYER.HEAD, such as 3.1", quoteShort(text))
		}
		if wrong := inModel(c, e); wrong != "" {
			return nil, usagef("--heads %s: %s", quoteShort(text), wrong)
		}
		heads = append(heads, inside.Head{Layer: e.At.Layer, Head: e.Head})
	}
	slices.SortFunc(heads, func(a, b inside.Head) int {
		return cmp.Or(a.Layer-b.Layer, a.Head-b.Head)
	})
	return slices.Compact(heads), nil
}

// checkSize tells how much will be written, and refuses too much.
func (c *traceCommand) checkSize(a *app, arrays []inside.Array, tokens int) error {
	size, to := int64(0), c.NPY
	for _, x := range arrays {
		size += x.Bytes()
	}
	if to == nil {
		to = c.To.Out
	}
	text := fmt.Sprintf("%s: %s of %s, %s", *to, quote.Count(len(arrays), "array"),
		quote.Count(tokens, "token"), quote.LongSize(size))
	if size > int64(c.Limit) {
		return fault.Hint(fmt.Errorf("%s, want at most %s", text, quote.LongSize(int64(c.Limit))),
			"--limit SIZE allows more")
	}
	a.Notef("%s", text)
	return nil
}

// shapes are the arrays as a file has them.
func shapes(arrays []inside.Array) (all []arrayShape) {
	for _, x := range arrays {
		all = append(all, arrayShape{Name: x.Point.String(), Shape: x.Shape})
	}
	return all
}

// read evaluates the text.
func (c *traceCommand) read(
	m *model.Model, p *prompt, arrays []inside.Array, put func(i, at int, x []float32) error,
) error {
	ctx := context.Background() // Ctrl-C ends the process
	if c.metric != nil {
		_, err := inside.ReadGradients(ctx, m, p.ids, *c.metric, arrays, put)
		return err
	}
	return inside.ReadArrays(ctx, m, p.ids, c.view, arrays, put)
}

// writeFolder writes a file for each array. All are open while the text is read.
func (c *traceCommand) writeFolder(a *app, m *model.Model, p *prompt, arrays []inside.Array) error {
	list, names := shapes(arrays), []string(nil)
	for _, x := range list {
		names = append(names, x.Name+".npy")
	}
	dir, err := outfile.NewFolder(*c.NPY, names, a.writing(c.To.Force, outfile.Directory))
	if err != nil {
		return outfile.FlagError("--npy", err)
	}
	defer dir.Close()
	ctx, files := context.Background(), make([]*arrayWriter, len(list))
	var write func(i int) error
	write = func(i int) error {
		if i == len(list) {
			return c.read(m, p, arrays, func(i, at int, x []float32) error {
				err := files[i].writeAt(0, at, x)
				if err != nil {
					err = fmt.Errorf("%s: %w", filepath.Join(*c.NPY, names[i]), folder.Cause(err))
				}
				return err
			})
		}
		var within error // of the files after this one
		err := dir.Write(ctx, names[i], func(w io.Writer) (err error) {
			if files[i], err = beginArrays(w, npyArrays, nil, list[i]); err != nil {
				return err
			}
			if within = write(i + 1); within != nil {
				return within
			}
			return files[i].end()
		})
		if within != nil {
			return within
		}
		return err
	}
	if err := write(0); err != nil {
		return err
	}
	return outfile.FlagError("--npy", dir.Commit(ctx))
}
