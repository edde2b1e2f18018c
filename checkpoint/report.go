// What adapters are, and what they change, for people.

package checkpoint

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"picogpt/internal/folder"
	"picogpt/internal/quote"
	"picogpt/weights"
)

// An AdapterReport says what one adapter is.
type AdapterReport struct {
	Path       string   `json:"path"` // of its tensors
	Kind       string   `json:"kind"` // peft_type, or DoRA
	Base       string   `json:"base,omitempty"`
	Scale      float64  `json:"scale"`
	Ranks      []int    `json:"ranks,omitempty"` // of its products
	Targets    []string `json:"targets"`         // of its tensors, without numbers of blocks
	Parameters int64    `json:"parameters"`
	Bytes      int64    `json:"bytes"`
}

// report makes the report of an adapter whose updates are in the merging.
func (o *openAdapter) report(layers []*layer, whole map[string]weights.Tensor) AdapterReport {
	r := AdapterReport{Path: o.path, Kind: o.config.shown(), Base: o.config.base, Scale: o.scale,
		Bytes: o.tensors.Size()}
	ranks, targets := map[int]bool{}, map[string]bool{}
	for _, l := range layers {
		targets[withoutBlock(l.module)] = true
		if o.config.name == "LORA" {
			ranks[o.config.rankOf(l.module)] = true
		}
	}
	for name := range whole {
		targets[withoutBlock(name)] = true
	}
	if o.config.virtual() {
		targets["virtual tokens"] = true
	}
	for _, t := range o.tensors.All() {
		r.Parameters += int64(t.Len())
	}
	r.Ranks, r.Targets = slices.Sorted(maps.Keys(ranks)), slices.Sorted(maps.Keys(targets))
	return r
}

// withoutBlock returns a name without "transformer." and "h.N.".
func withoutBlock(name string) string {
	name = strings.TrimPrefix(name, "transformer.")
	if rest, ok := strings.CutPrefix(name, "h."); ok {
		_, name, _ = strings.Cut(rest, ".")
	}
	return name
}

// note says for users what was merged.
func (o *openAdapter) note() string {
	how := fmt.Sprintf(" times %v", o.scale)
	if o.config.virtual() {
		how = ", virtual tokens before every text"
	}
	if o.config.base != "" {
		how += ", made for " + o.config.base
	}
	return fmt.Sprintf("adapter %s: %s%s", o.path, o.config.shown(), how)
}

// unread says which parts of an adapter have no effect.
func (o *openAdapter) unread() (all []string) {
	if n := len(o.left); n > 0 {
		all = append(all, fmt.Sprintf("%s: %d of %d modules are left out, because %s does not "+
			"name them: %s", o.path, n, o.modules, folder.AdapterConfig, quote.Some(o.left)))
	}
	if len(o.config.unknown) > 0 {
		all = append(all, fmt.Sprintf("%s: not known, and without effect: %s",
			folder.Path(o.files, folder.AdapterConfig), quote.Some(o.config.unknown)))
	}
	return all
}

// A Change is what adapters change of a tensor.
type Change struct {
	Name string  `json:"name"`
	By   float64 `json:"by"` // ‖after − before‖/‖before‖, by the squares of the elements
}

// Changes returns how much the adapters change each tensor that the base has, the most first. It
// reads these tensors.
func (c *Checkpoint) Changes() (all []Change, err error) {
	for name, was := range c.bases {
		is, _ := c.Tensors.Tensor(name)
		before, err := was.Float32s()
		if err != nil {
			return nil, err
		}
		after, err := is.Float32s()
		if err != nil {
			return nil, err
		}
		if len(before) != len(after) {
			continue // another vocabulary
		}
		square, of := 0.0, 0.0
		for i, x := range before {
			d := float64(after[i]) - float64(x)
			square, of = square+float64(d*d), of+float64(float64(x)*float64(x))
		}
		if square > 0 {
			all = append(all, Change{name, math.Sqrt(square / of)})
		}
	}
	slices.SortFunc(all, func(a, b Change) int {
		return cmp.Or(cmp.Compare(b.By, a.By), strings.Compare(a.Name, b.Name))
	})
	return all, nil
}
