package stack

// Points: places in the forward pass whose values can be read and, most of them, edited.

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/agnivade/levenshtein"
	"picogpt/internal/quote"
)

// A Kind is a place of the forward pass: in each block, or once. The values are in the order in
// which a pass computes them.
type Kind uint8

// The kinds of points. What a point holds for one token is in brackets.
const (
	Embed           Kind = iota // row of wte [n_embd]
	PosEmbed                    // row of wpe [n_embd]
	ResidPre                    // residual stream before the block [n_embd]
	LN1Scale                    // √(variance + epsilon) of ln_1 [1]
	LN1Normalized               // after ln_1 [n_embd]
	Query                       // q, not yet scaled [n_head, head_dim]
	Key                         // k, before the cache rounds it [n_head, head_dim]
	Value                       // v, before the cache rounds it [n_head, head_dim]
	Scores                      // q·k, scaled; −Inf for hidden keys [n_head, position+1]
	Pattern                     // attention weights [n_head, position+1]
	Z                           // weighted sum of v [n_head, head_dim]
	Result                      // what each head adds to AttnOut, without bias [n_head, n_embd]
	AttnOut                     // after c_proj of the attention [n_embd]
	ResidMid                    // residual stream between attention and MLP [n_embd]
	LN2Scale                    // √(variance + epsilon) of ln_2 [1]
	LN2Normalized               // after ln_2 [n_embd]
	MLPPre                      // after c_fc [n_inner]
	MLPPost                     // after the activation [n_inner]
	MLPOut                      // after c_proj of the MLP [n_embd]
	ResidPost                   // residual stream after the block [n_embd]
	FinalScale                  // √(variance + epsilon) of ln_f [1]
	FinalNormalized             // after ln_f [n_embd]
	kinds
)

// A place says how a kind is named and used.
type place struct {
	name  string // TransformerLens's, in a block without "blocks.N."
	short string // interp-engine's
	also  string // names that TransformerBridge of TransformerLens 4 has beside name
	once  bool   // for the model, not for each block
	edits bool   // takes Set, Add and Scale
}

var places = [kinds]place{
	Embed:           {"hook_embed", "embed", "embed.hook_out", true, true},
	PosEmbed:        {"hook_pos_embed", "pos_embed", "pos_embed.hook_out", true, true},
	ResidPre:        {"hook_resid_pre", "resid_pre", "hook_in ln1.hook_in", false, true},
	LN1Scale:        {"ln1.hook_scale", "ln1_scale", "", false, false},
	LN1Normalized:   {"ln1.hook_normalized", "ln1_normalized", "ln1.hook_out", false, false},
	Query:           {"attn.hook_q", "q", "attn.q.hook_out", false, true},
	Key:             {"attn.hook_k", "k", "attn.k.hook_out", false, true},
	Value:           {"attn.hook_v", "v", "attn.v.hook_out", false, true},
	Scores:          {"attn.hook_attn_scores", "attn_scores", "", false, false},
	Pattern:         {"attn.hook_pattern", "pattern", "", false, false},
	Z:               {"attn.hook_z", "z", "attn.o.hook_in", false, true},
	Result:          {"attn.hook_result", "result", "", false, false},
	AttnOut:         {"hook_attn_out", "attn_out", "attn.hook_out attn.o.hook_out", false, true},
	ResidMid:        {"hook_resid_mid", "resid_mid", "ln2.hook_in", false, true},
	LN2Scale:        {"ln2.hook_scale", "ln2_scale", "", false, false},
	LN2Normalized:   {"ln2.hook_normalized", "ln2_normalized", "ln2.hook_out", false, false},
	MLPPre:          {"mlp.hook_pre", "mlp_pre", "mlp.in.hook_out", false, true},
	MLPPost:         {"mlp.hook_post", "mlp_post", "mlp.out.hook_in", false, true},
	MLPOut:          {"hook_mlp_out", "mlp_out", "mlp.hook_out mlp.out.hook_out", false, true},
	ResidPost:       {"hook_resid_post", "resid_post", "hook_out", false, true},
	FinalScale:      {"ln_final.hook_scale", "final_scale", "", true, false},
	FinalNormalized: {"ln_final.hook_normalized", "final_normalized", "ln_final.hook_out", true, false},
}

// Once reports whether the model has one such point; else each block has one.
func (k Kind) Once() bool { return places[k].once }

// TakesEdits reports whether an Edit may Set, Add to or Scale such points.
func (k Kind) TakesEdits() bool { return places[k].edits }

// PerHead reports whether each head has values of its own at such points.
func (k Kind) PerHead() bool { return k >= Query && k <= Z }

// AllLayers is the Layer of a Point that stands for those of all blocks.
const AllLayers = -1

// A Point is a place in the forward pass. Layer is the block's number from 0, AllLayers, or 0 for a
// kind that there is once.
type Point struct {
	Kind  Kind
	Layer int
}

// String returns TransformerLens's name, such as "blocks.3.hook_resid_pre" or "hook_embed".
func (p Point) String() string {
	if p.Kind >= kinds {
		return fmt.Sprintf("point %d", p.Kind)
	}
	switch at := &places[p.Kind]; {
	case at.once:
		return at.name
	case p.Layer == AllLayers:
		return "blocks.*." + at.name
	default:
		return "blocks." + strconv.Itoa(p.Layer) + "." + at.name
	}
}

// MarshalText returns String.
func (p Point) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText is ParsePoint.
func (p *Point) UnmarshalText(b []byte) (err error) {
	*p, err = ParsePoint(string(b))
	return err
}

// Compare orders points as a pass computes them.
func (p Point) Compare(o Point) int { return cmp.Compare(p.order(), o.order()) }

func (p Point) order() int {
	switch {
	case p.Kind < ResidPre:
		return int(p.Kind)
	case p.Kind >= FinalScale:
		return math.MaxInt - int(kinds) + int(p.Kind) // after every layer's
	}
	return (p.Layer+2)*int(kinds) + int(p.Kind)
}

// Has reports whether a model of so many blocks has the point: p is one, not AllLayers.
func (p Point) Has(layers int) bool {
	return p.Kind < kinds && p.Layer >= 0 && p.Layer < layers && (p.Layer == 0 || !p.Kind.Once())
}

// Width returns how many numbers the point has for the token at a position.
func (p Point) Width(c *Params, position int) int {
	switch p.Kind {
	case LN1Scale, LN2Scale, FinalScale:
		return 1
	case Scores, Pattern:
		return c.Heads * (position + 1)
	case Result:
		return c.Heads * c.Embd
	case MLPPre, MLPPost:
		return c.Inner
	}
	return c.Embd
}

// ParsePoint returns the point of a name: TransformerLens's, such as "blocks.3.hook_resid_pre" or
// "blocks.*.attn.hook_z" (AllLayers), one that its version 4 has beside it, such as
// "blocks.3.attn.q.hook_out", or interp-engine's, such as "resid_pre.3" or "z.*".
func ParsePoint(name string) (Point, error) {
	for k := range kinds {
		at := &places[k]
		if at.once {
			if name == at.name || name == at.short || at.has(name) {
				return Point{Kind: k}, nil
			}
			continue
		}
		layer, rest, ok := "", "", false
		if after, found := strings.CutPrefix(name, "blocks."); found {
			layer, rest, ok = strings.Cut(after, ".")
			ok = ok && (rest == at.name || at.has(rest))
		} else {
			layer, ok = strings.CutPrefix(name, at.short+".")
		}
		if !ok {
			continue
		}
		if layer == "*" {
			return Point{k, AllLayers}, nil
		}
		if n, err := strconv.Atoi(layer); err == nil && strconv.Itoa(n) == layer && n >= 0 {
			return Point{k, n}, nil
		}
		return Point{}, fmt.Errorf("point %s: layer %s, want a number from 0, or *",
			quote.Plain(name, 80), quote.Plain(layer, 20))
	}
	return Point{}, fmt.Errorf("point %s: there is none%s", quote.Plain(name, 80), meant(name))
}

// has reports whether TransformerLens 4 has the name, too.
func (at *place) has(name string) bool { return slices.Contains(strings.Fields(at.also), name) }

// FromEnd returns the name with the number of a layer in place of one that counts from the end: of
// 12 layers "resid_post.-1" is "resid_post.11".
func FromEnd(name string, layers int) string {
	fields := strings.Split(name, ".")
	for i, f := range fields {
		if n, err := strconv.Atoi(f); err == nil && n < 0 && n >= -layers {
			fields[i] = strconv.Itoa(layers + n)
		}
	}
	return strings.Join(fields, ".")
}

// PointNames returns the names of all points, with "blocks.*." for those of each block.
func PointNames() []string {
	names := make([]string, kinds)
	for k := range kinds {
		names[k] = Point{k, AllLayers}.String()
	}
	return names
}

// meant returns " (did you mean NAME?)" with the point whose name is nearest, or a hint.
func meant(name string) string {
	near, least := "", 60
	fields, layer := strings.Split(strings.ToLower(name), "."), "*"
	for i, f := range fields {
		if f != "" && strings.Trim(f, "0123456789") == "" {
			fields[i], layer = "*", f
		}
	}
	plain := strings.Join(fields, ".")
	for k := range kinds {
		p, at := Point{k, AllLayers}, &places[k]
		for _, known := range []string{p.String(), "blocks.*." + at.name, at.name, at.short,
			at.short + ".*"} {
			if len(plain) > 60 {
				break
			}
			d := levenshtein.ComputeDistance(plain, known)
			if d <= (len(known)+2)/3 && d < min(least, len(plain)) {
				near, least = strings.Replace(p.String(), "*", layer, 1), d
			}
		}
	}
	if near == "" {
		return ", want one such as blocks.0.hook_resid_pre"
	}
	return " (did you mean " + near + "?)"
}
