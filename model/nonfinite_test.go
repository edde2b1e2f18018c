package model_test

// Values of a checkpoint that are not finite, or that overflow, give a NonFiniteError: in every
// format, in every variant, and at every position.

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/kernels"
	"picogpt/model"
	"picogpt/weights"
)

// longer has room for more than one page.
var longer = fixture.Options{Positions: 100, Untied: true}

// plant returns a change of one number of a tensor of the fixture, in F32.
func plant(name string, at int, value float64) func(tensors) tensors {
	return change(name, func(t *weights.Tensor) {
		binary.LittleEndian.PutUint32(t.Data[4*at:], math.Float32bits(float32(value)))
	})
}

// times returns a change of a tensor's columns from … to, of so many, each number multiplied.
func times(name string, by float64, from, to, of int) func(tensors) tensors {
	return change(name, func(t *weights.Tensor) {
		for i := range t.Len() {
			if i%of >= from && i%of < to {
				number := t.Data[4*i:]
				x := float64(math.Float32frombits(binary.LittleEndian.Uint32(number)))
				binary.LittleEndian.PutUint32(number, math.Float32bits(float32(x*by)))
			}
		}
	})
}

// checkpointWith is the file of longer with changes.
func checkpointWith(t *testing.T, changes ...func(tensors) tensors) []byte {
	t.Helper()
	ts := fixture.Tensors(longer)
	for _, change := range changes {
		ts = change(ts)
	}
	return tensorBytes(t, ts)
}

// tensorBytes is a file of those tensors.
func tensorBytes(t *testing.T, ts tensors) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := weights.Write(&b, nil, ts); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// evalFails reports whether Eval of so many tokens is a NonFiniteError. Any other error fails the
// test, and so does a session that has changed.
func evalFails(t *testing.T, m *model.Model, tokens int) bool {
	t.Helper()
	s := m.NewSession()
	ids := make([]int, tokens)
	for i := range ids {
		ids[i] = 3 + i%5
	}
	err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids})
	if err == nil {
		return false
	}
	var bad *model.NonFiniteError
	if !errors.As(err, &bad) || s.Len() != 0 {
		t.Fatalf("error %v with %d tokens held, want a NonFiniteError and none", err, s.Len())
	}
	return true
}

// forFormats runs a test on a checkpoint in the formats of those names and in each variant.
func forFormats(t *testing.T, file []byte, formats string, f func(what string, m *model.Model)) {
	t.Helper()
	config := fixture.Config(longer)
	for turn, format := range strings.Fields(formats) {
		for _, kernel := range cases.Some(kernels.Variants(), 2, turn) {
			o := model.Options{Threads: 2, Kernel: kernel, Format: format}
			m := testmodel.New(t, config, file, o)
			f(fmt.Sprintf("%s, %s", format, kernel), m)
			m.Close()
		}
	}
}

const (
	allFormats  = "f32 f16 bf16 q8 q4"
	wideFormats = "f32 bf16 q8 q4" // those that hold any float32
)

// lengths are numbers of tokens to try: one, a few, and, where the kernels are fast, more than a
// page.
func lengths(m *model.Model) []int {
	if m.Kernel() == "go" {
		return []int{1, 3}
	}
	return []int{1, 2, 70}
}

// Each kind of weight in turn, in the first layer and in the last, used by the first token and by
// all others.
func TestWeightsThatAreNotFiniteAreAnError(t *testing.T) {
	cases.NotShort(t)
	const embd = 15
	type site struct {
		tensor string
		at     int
	}
	sites := []site{
		{"wte.weight", 3*embd + 7}, {"wpe.weight", 4}, {"ln_f.weight", 2}, {"ln_f.bias", 14},
		{"lm_head.weight", 20*embd + 1}, // of a token that is not in the text
	}
	for _, h := range []string{"h.0.", "h.2."} {
		queries, keys, values := 2, embd+7, 2*embd
		for _, column := range []int{queries, keys, 2*embd - 1, values, 3*embd - 1} {
			sites = append(sites, site{h + "attn.c_attn.weight", 3*embd*4 + column},
				site{h + "attn.c_attn.bias", column})
		}
		for _, name := range strings.Fields("ln_1 attn.c_proj ln_2 mlp.c_fc mlp.c_proj") {
			sites = append(sites, site{h + name + ".weight", 11}, site{h + name + ".bias", 11})
		}
	}
	bad := []float64{math.NaN(), math.Inf(1), math.Inf(-1)}
	for i, site := range sites {
		for j, value := range bad {
			if !cases.Long && j != i%len(bad) {
				continue
			}
			file := checkpointWith(t, plant(site.tensor, site.at, value))
			formats := strings.Join(cases.Some(strings.Fields(allFormats), 2, i), " ")
			forFormats(t, file, formats, func(what string, m *model.Model) {
				for _, tokens := range lengths(m) {
					if !evalFails(t, m, tokens) {
						t.Errorf("%s: %v at %d of %s: %d tokens have finite logits",
							what, value, site.at, site.tensor, tokens)
					}
				}
			})
		}
	}
}

// The weights are finite, but their products are not.
func TestOverflowIsAnError(t *testing.T) {
	const embd = 15
	scores := func(query, key float64) []func(tensors) tensors { // the same for every token
		changes := []func(tensors) tensors{times("h.1.attn.c_attn.weight", 0, 0, 2*embd, 3*embd)}
		for i := range embd {
			changes = append(changes,
				plant("h.1.attn.c_attn.bias", i, query), plant("h.1.attn.c_attn.bias", embd+i, key))
		}
		return changes
	}
	changes := func(list ...func(tensors) tensors) []func(tensors) tensors { return list }
	qkv := func(name string, by float64, from, to int) []func(tensors) tensors {
		return changes(times(name+".attn.c_attn.weight", by, from*embd, to*embd, 3*embd))
	}
	all := func(name string, by float64) func(tensors) tensors { return times(name, by, 0, 1, 1) }
	for _, c := range []struct {
		name    string
		change  []func(tensors) tensors
		fails   bool
		formats string
	}{
		{"as it is", nil, false, allFormats},
		{"all scores −Inf", scores(1e20, -1e20), true, allFormats},
		{"all scores +Inf", scores(1e20, 1e20), true, allFormats},
		{"scores of −1e30", scores(1e15, -1e15), false, allFormats},
		{"scores of any sign", qkv("h.0", 1e20, 0, 2), true, wideFormats},
		{"queries of 1e10", qkv("h.0", 1e10, 0, 1), false, wideFormats},
		{"values", qkv("h.2", 1e22, 2, 3), true, wideFormats},
		{"wte", changes(all("wte.weight", 1e20)), true, wideFormats},
		{"wpe", changes(all("wpe.weight", 1e25)), true, allFormats},
		{"attn.c_proj", changes(all("h.0.attn.c_proj.weight", 1e22)), true, wideFormats},
		{"c_fc", changes(all("h.2.mlp.c_fc.weight", 1e22)), true, wideFormats},
		{"mlp.c_proj", changes(all("h.2.mlp.c_proj.bias", 1e22)), true, allFormats},
		{"ln_1, then c_fc", changes(all("h.1.ln_2.weight", 1e37), all("h.1.mlp.c_fc.weight", 1e4)),
			true, allFormats},
		{"ln_f, then the head", changes(all("ln_f.weight", 1e38), all("lm_head.weight", 1e4)),
			true, allFormats},
	} {
		file := checkpointWith(t, c.change...)
		forFormats(t, file, c.formats, func(what string, m *model.Model) {
			for _, tokens := range lengths(m) {
				if fails := evalFails(t, m, tokens); fails != c.fails {
					t.Errorf("%s, %s, %d tokens: not finite is %v, want %v",
						c.name, what, tokens, fails, c.fails)
				}
			}
		})
	}
}

// Numbers that no token uses change nothing.
func TestWeightsThatNoTokenReaches(t *testing.T) {
	file := checkpointWith(t,
		plant("wte.weight", 20*15, math.NaN()), plant("wpe.weight", 80*15, math.Inf(1)))
	clean := checkpointWith(t)
	forFormats(t, file, allFormats, func(what string, m *model.Model) {
		other := testmodel.New(t, fixture.Config(longer), clean, model.Options{Format: m.Format()})
		sameBits(t, what, eval(t, m.NewSession(), 1, 2, 3), eval(t, other.NewSession(), 1, 2, 3))
		if !evalFails(t, m, 81) {
			t.Errorf("%s: position 80 is reached, and the logits are finite", what)
		}
	})
}
