package main

// --ablate, --hide and --steer: what changes inside of the model, wherever the command opens it.

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"picogpt/cmd/gpt/internal/receipt"
	"picogpt/inside"
	"picogpt/inside/steer"
	"picogpt/internal/cli"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/model/stack"
)

// editFlags are flags that become edits of the model.
type editFlags struct {
	Ablate []string
	Hide   []string
	Steer  []string
	Edit   []string
	As     string

	SAE     *string
	Feature []string

	recorded []model.Edit // of a receipt
}

// editNames are their names.
var editNames = [...]string{"--ablate", "--hide", "--edit", "--steer", "--feature"}

// editGroup is their heading.
const editGroup = "Changes inside of the model:"

func (e *editFlags) flags(f *cli.Flags) {
	f.Group(editGroup)
	f.Add(&e.Ablate, "--ablate LAYER.HEAD|POINT",
		`set what a head of attention computes to 0: 3.1 is head 1 of layer 3, both from 0; or all
		of a point, such as mlp_out.2 or attn_out.2; may be repeated`)
	f.Add(&e.Hide, "--hide TO:FROM[@LAYER.HEAD]", `hide the token at position FROM, from 0, from the
		attention of that at TO: in all heads, or in those of @LAYER, or in one; may be repeated`)
	f.Add(&e.Edit, "--edit LIST", `edits as a request of gpt serve has them, in JSON:
		[{"at":"z.3","op":"scale","values":[0]}]; gpt serve --help says what they have; may be
		repeated`)
	f.Add(&e.Steer, "--steer FILE[:SCALE][@LAYERS]",
		`add a control vector (GGUF, as llama.cpp has it) times SCALE after the layers that it has,
		or after those of LAYERS, such as 2-5; may be repeated`)
	f.Add(&e.Feature, "--feature N=X|N+X", `make feature N of --sae X (0 takes it away), or add X to
		it (N-X takes X from it), at every token; may be repeated`)
	f.Add(&e.SAE, "--sae DIR|RELEASE/HOOK", `a sparse autoencoder or transcoder: a folder with
		cfg.json and sae_weights.safetensors, as SAELens has it, or one in the hub's cache by
		SAELens's names, such as gpt2-small-res-jb/blocks.8.hook_resid_pre`)
	e.addView(f)
}

// addView adds --as.
func (e *editFlags) addView(f *cli.Flags) {
	f.Add(&e.As, "--as VIEW [raw]",
		`raw: heads, and the zeros of --ablate, as the checkpoint's model has them, and Hugging
		Face's; transformerlens: as the model that TransformerLens makes of it by default, where the
		bias of values is no part of a head`).OneOf("raw", "transformerlens")
}

// list returns the flags as they were given.
func (e *editFlags) list() (all []string) {
	for i, values := range [][]string{e.Ablate, e.Hide, e.Edit, e.Steer, e.Feature} {
		for _, value := range values {
			all = append(all, editNames[i]+" "+value)
		}
	}
	if len(e.Feature) > 0 && e.SAE != nil {
		all = append(all, "--sae "+*e.SAE)
	}
	if len(e.Ablate)+len(e.Edit) > 0 && e.As == string(inside.TransformerLens) {
		all = append(all, "--as "+e.As)
	}
	return all
}

// given returns the first flag that changes the model, "" if there is none.
func (e *editFlags) given() string {
	if all := e.list(); len(all) > 0 {
		flag, _, _ := strings.Cut(all[0], " ")
		return flag
	}
	return ""
}

// hint says what may be done about numbers that are not finite, if a flag may have made them so.
func (e *editFlags) hint(err error) string {
	var infinite *model.NonFiniteError
	if flag := e.given(); flag != "" &&
		(errors.As(err, &infinite) || errors.Is(err, inside.ErrNonFinite)) {
		return flag +
			" changes the model's numbers: without it, or with a smaller scale, they may be finite"
	}
	return ""
}

// check refuses values that no model could follow, and devices that follow none.
func (e *editFlags) check(device, said string) error {
	if flag := e.given(); flag != "" && device != "cpu" {
		return noEdits(flag, said, device)
	}
	if _, err := e.parsed(nil); err != nil {
		return err
	}
	if _, err := e.changes(); err != nil {
		return err
	}
	for _, value := range e.Steer {
		if _, err := parseSteer(value); err != nil {
			return err
		}
	}
	return nil
}

// refuse refuses a flag that keeps a session, beside flags that change the model.
func (e *editFlags) refuse(flag string) error {
	if given := e.given(); given != "" {
		return usagef("%s and %s: want one of them, because the file would hold keys and values "+
			"of an edited model, which say nothing of that", flag, given)
	}
	return nil
}

// within refuses what would change a token after a text of so many, of a command that continues
// none.
func (e *editFlags) within(tokens int) error {
	for _, value := range e.Hide {
		edit, err := parseHide(value)
		if err == nil && edit.From >= tokens {
			err = usagef("--hide %s: the text has %s, want TO from 0 to %d", quoteShort(value),
				quote.Count(tokens, "token"), tokens-1)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// modelEdits returns the edits that the flags ask for of the current checkpoint, or those of a
// receipt.
func (a *app) modelEdits() ([]model.Edit, error) {
	e := &a.Edits
	if e.given() == "" {
		return e.recorded, nil
	}
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	c := ck.Config
	all, err := e.parsed(&c)
	if err != nil {
		return nil, err
	}
	var vectors []steer.Scaled
	for _, value := range e.Steer {
		s, err := parseSteer(value)
		if err != nil {
			return nil, err
		}
		v, err := a.readVector(&s, c)
		if err != nil {
			return nil, err
		}
		vectors = append(vectors, steer.Scaled{Vector: v, Scale: s.scale})
	}
	added, err := steer.Edits(vectors)
	if err != nil {
		return nil, usagef("--steer: %w", err)
	}
	return append(all, added...), nil
}

// parsed returns the edits of all flags but --steer, of a model, or nil for one not yet known.
func (e *editFlags) parsed(c *model.Config) (all []model.Edit, err error) {
	layers := mostLayers
	if c != nil {
		layers = c.Layer
	}
	for i, values := range [][]string{e.Ablate, e.Hide, e.Edit} {
		for _, value := range values {
			edits := make([]model.Edit, 1)
			switch i {
			case 0:
				edits[0], err = parseAblate(value, layers)
			case 1:
				edits[0], err = parseHide(value)
			default:
				if edits, err = receipt.ParseEdits(value); err != nil {
					err = usagef("--edit %s: %w", quoteShort(value), err)
				}
			}
			if err != nil {
				return nil, err
			}
			for _, edit := range edits {
				if c == nil {
					continue
				}
				if wrong := inModel(*c, edit); wrong != "" {
					return nil, usagef("%s %s: %s", editNames[i], quoteShort(value), wrong)
				}
			}
			all = append(all, edits...)
		}
	}
	return all, nil
}

// noEdits is the error of a flag that changes the model, on a GPU.
func noEdits(flag, said, device string) error {
	return usagef("%s and %s %s: a GPU makes no edits, want the processor (--device cpu), whose "+
		"numbers are the same", flag, said, device)
}

// readVector reads the control vector of a value of --steer, for a model.
func (a *app) readVector(s *steerValue, c model.Config) (steer.Vector, error) {
	text, err := a.files.Limited(s.path, "--steer", steer.Longest)
	if err != nil {
		return nil, err
	}
	v, err := steer.Parse([]byte(text))
	if err == nil {
		err = v.Check(c)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.path, err)
	}
	if s.layers == nil {
		return v, nil
	}
	if v = v.Between(s.layers[0], s.layers[1]); len(v) == 0 {
		return nil, usagef(
			"--steer %s: the file has no direction of these layers", quoteShort(s.given))
	}
	return v, nil
}

var headName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,5})\.([0-9]{1,5})$`)
})

// mostLayers stands for the layers of a model that is not yet known.
const mostLayers = 1 << 16

// parseAblate reads a value of --ablate, for a model of so many layers.
func parseAblate(value string, layers int) (model.Edit, error) {
	e := model.Edit{Head: model.AllHeads, Op: model.Set, Values: []float32{0}}
	if m := headName().FindStringSubmatch(value); m != nil {
		e.At = model.Point{Kind: model.Z, Layer: number(m[1])}
		e.Head = number(m[2])
		return e, nil
	}
	p, err := model.ParsePoint(stack.FromEnd(value, layers))
	if err != nil {
		return e, usagef("--ablate %s: want LAYER.HEAD, such as 3.1, or a point: %w",
			quoteShort(value), err)
	}
	if e.At = p; !p.Kind.TakesEdits() {
		return e, usagef("--ablate %s: such a point can be read, not changed", quoteShort(value))
	}
	return e, nil
}

var hideForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]{1,9}):([0-9]{1,9})(?:@([0-9]{1,5})(?:\.([0-9]{1,5}))?)?$`)
})

// parseHide reads a value of --hide.
func parseHide(value string) (model.Edit, error) {
	m := hideForm().FindStringSubmatch(value)
	if m == nil {
		return model.Edit{}, usagef("--hide %s: want TO:FROM or TO:FROM@LAYER.HEAD, such as "+
			"12:3@2.1", quoteShort(value))
	}
	to, from := number(m[1]), number(m[2])
	if from > to {
		return model.Edit{}, usagef("--hide %s: the token at %d sees none after it, want FROM "+
			"from 0 to %d", quoteShort(value), to, to)
	}
	e := model.Edit{At: model.Point{Kind: model.Pattern, Layer: model.AllLayers},
		Head: model.AllHeads,
		Op:   model.Hide, From: to, To: to + 1, KeysFrom: from, KeysTo: from + 1}
	if m[3] != "" {
		e.At.Layer = number(m[3])
	}
	if m[4] != "" {
		e.Head = number(m[4])
	}
	return e, nil
}

// A steerValue is a value of --steer.
type steerValue struct {
	given  string
	path   string
	scale  float32
	layers *[2]int // both included; nil: all that the file has
}

var layersForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(.+)@([0-9]{1,5})(?:-([0-9]{1,5}))?$`)
})

// parseSteer reads a value of --steer. A file that is there has neither a scale nor layers.
func parseSteer(value string) (steerValue, error) {
	s := steerValue{given: value, path: value, scale: 1}
	if _, err := os.Lstat(value); err == nil {
		return s, nil
	}
	if m := layersForm().FindStringSubmatch(s.path); m != nil {
		from := number(m[2])
		s.path, s.layers = m[1], &[2]int{from, from}
		if m[3] != "" {
			s.layers[1] = number(m[3])
		}
		if s.layers[1] < from {
			return s, usagef("--steer %s: layers %d to %d, want the smaller one first",
				quoteShort(value), from, s.layers[1])
		}
	}
	if _, err := os.Lstat(s.path); err == nil {
		return s, nil
	}
	if colon := strings.LastIndexByte(s.path, ':'); colon >= len(filepath.VolumeName(s.path)) {
		path, scale := s.path[:colon], s.path[colon+1:]
		x, err := strconv.ParseFloat(scale, 32)
		if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
			return s, usagef("--steer %s: %s after the colon, want the scale, a number such as 0.5",
				quoteShort(value), quoteShort(scale))
		}
		s.path, s.scale = path, float32(x)
	}
	if s.path == "" || s.path == "-" {
		return s, usagef("--steer %s: want a file", quoteShort(value))
	}
	return s, nil
}

// number is the value of a few digits.
func number(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// inModel says what an edit of flags wants that a model has not, "" if it has all.
func inModel(c model.Config, e model.Edit) string {
	switch layer := e.At.Layer; {
	case !e.At.Kind.Once() && layer != model.AllLayers && layer >= c.Layer:
		return "layer " + strconv.Itoa(layer) + ", want 0 to " + strconv.Itoa(c.Layer-1)
	case e.Head >= c.Head:
		return "head " + strconv.Itoa(e.Head) + ", want 0 to " + strconv.Itoa(c.Head-1)
	case e.To > c.Positions:
		return "position " + strconv.Itoa(e.To-1) + ", want 0 to " + strconv.Itoa(c.Positions-1)
	}
	return ""
}
