package model

// The loader finds tensors by name, checks that each is present with its shape and type, and lists
// what else the file holds.

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"picogpt/kernels"
	"picogpt/model/stack"
	"picogpt/weights"
)

// A loader finds the stack's tensors in a file. It keeps the first error; what it returns after
// that is empty.
type loader struct {
	ctx     context.Context
	config  Config
	tensors *weights.Tensors
	team    *kernels.Team
	format  kernels.Format // of the linear layers: the wanted one, or the one that the file has
	auto    bool           // take the format that the file has
	seen    bool           // format is that of a matrix of the file
	cache   kernels.Format // of the keys and values
	prefix  string         // "transformer." or ""
	used    map[string]bool
	ignored []string
	zeroed  []string // which tensors have weights that become zero in the format, and how many
	err     error
	dry     bool // check only: no element is read

	progress func(done, total int64) // Options.Progress
	read     int64                   // bytes of the tensors used so far
}

// load reads the parameters. format is the wanted number format; "" and "auto" mean the stored one.
func (l *loader) load(format string) (*stack.Params, error) {
	l.used = map[string]bool{}
	l.wantFormat(format)
	l.findPrefix()
	p := l.stack()
	l.leftovers()
	return p, l.err
}

func (l *loader) fail(format string, args ...any) {
	if l.err == nil {
		l.err = fmt.Errorf(format, args...)
	}
}

// findPrefix finds whether names begin with "transformer.", as in files that were saved with a
// head.
func (l *loader) findPrefix() {
	_, plain := l.tensors.Tensor("wte.weight")
	_, prefixed := l.tensors.Tensor("transformer.wte.weight")
	if plain && prefixed {
		l.fail("wte.weight: found twice, also as transformer.wte.weight")
	}
	if prefixed {
		l.prefix = "transformer."
	}
}

// tensor returns the tensor of the stack with that name. It must have the shape and hold floats.
// Quantized tensors do not come here: see matrix.
func (l *loader) tensor(name string, shape ...int) weights.Tensor {
	if l.err == nil {
		l.err = l.ctx.Err()
	}
	if l.err != nil {
		return weights.Tensor{}
	}
	t, ok := l.tensors.Tensor(name)
	switch {
	case !ok:
		l.fail("%s: missing, want shape %v: %s has %s", name, shape, l.tensors.Name(), l.others())
	case !slices.Equal(t.Shape, shape):
		l.fail("%s: shape %v, want %v", name, t.Shape, shape)
	case t.DType != weights.F32 && t.DType != weights.F16 && t.DType != weights.BF16 &&
		t.DType != weights.F64: // which is rounded to F32, as in PyTorch
		l.fail("%s: type %s, want F32, F16, BF16 or F64", name, t.DType)
	}
	l.use(t)
	return t
}

// others returns three names that are in the file, for the error of one that is not: of tensors
// that the stack has not used so far, or else of any.
func (l *loader) others() string {
	const most = 3
	var names, all []string
	for _, t := range l.tensors.All() {
		all = append(all, t.Name)
		if !l.used[t.Name] && !isMask(strings.TrimPrefix(t.Name, "transformer.")) {
			names = append(names, t.Name)
		}
	}
	if len(names) == 0 {
		names = all
	}
	switch {
	case len(names) == 0:
		return "no tensors"
	case len(names) > most:
		names = append(names[:most], "…")
	}
	return strings.Join(names, ", ")
}

// use records that a tensor is part of the stack, and reports the progress before its data is read.
func (l *loader) use(t weights.Tensor) {
	l.used[t.Name] = true
	if l.progress != nil {
		l.progress(l.read, l.tensors.Size())
	}
	l.read += t.Size()
}

// floats returns a small tensor as float32. The format of the linear layers does not matter.
func (l *loader) floats(name string, shape ...int) []float32 {
	t := l.tensor(l.prefix+name, shape...)
	if l.err != nil || l.dry {
		return nil
	}
	x, err := t.Float32s()
	if err != nil {
		l.fail("%w", err)
	}
	return x
}

func (l *loader) norm(name string) stack.Norm {
	return stack.Norm{Gain: l.floats(name+".weight", l.config.Embd),
		Bias: l.floats(name+".bias", l.config.Embd)}
}

func (l *loader) linear(name string, in, out int) stack.Linear {
	return stack.Linear{Weight: l.matrix(l.prefix+name+".weight", kernels.InOut, in, out),
		Bias: l.floats(name+".bias", out)}
}

func (l *loader) embedding() kernels.Matrix {
	return l.matrix(l.prefix+"wte.weight", kernels.OutIn, l.config.Embd, l.config.VocabSize)
}

// headNames are the names of the head's weights in checkpoints; the oldest DialoGPT uses the
// second.
var headNames = []string{"lm_head.weight", "lm_head.decoder.weight"}

// lmHead returns the head's weights. If the file has a head that differs from wte, it is used even
// if the config says that they are tied.
func (l *loader) lmHead(wte *kernels.Matrix) *kernels.Matrix {
	embedding, _ := l.tensors.Tensor(l.prefix + "wte.weight")
	for _, name := range headNames {
		t, ok := l.tensors.Tensor(name)
		if !ok || l.err != nil {
			continue
		}
		same := false
		if !l.dry {
			var err error
			if same, err = t.Equal(embedding); err != nil {
				l.fail("%w", err)
			}
		}
		if same {
			l.use(t)
			return wte
		}
		m := l.matrix(name, kernels.OutIn, l.config.Embd, l.config.VocabSize)
		return &m
	}
	if !l.config.TieWordEmbeddings {
		l.fail("%s: missing, want shape [%d %d], since tie_word_embeddings is false", headNames[0],
			l.config.VocabSize, l.config.Embd)
	}
	return wte
}

// leftovers checks the tensors of the file that are not part of the stack. Mask buffers and the
// heads of other tasks are ignored. Any other tensor with a name of the stack is an error, because
// it would change the arithmetic.
func (l *loader) leftovers() {
	for _, t := range l.tensors.All() {
		if l.used[t.Name] {
			continue
		}
		name, inside := strings.CutPrefix(t.Name, "transformer.")
		part, _, _ := strings.Cut(name, ".")
		switch {
		case inside == (l.prefix != "") && isMask(name):
		case inside, part == "h", part == "wte", part == "wpe", part == "ln_f", part == "lm_head":
			l.fail("%s: unknown tensor in the stack, want the names of a GPT-2 with n_layer %d",
				t.Name, l.config.Layer)
			return
		}
		l.ignored = append(l.ignored, t.Name)
	}
}

// isMask reports whether a name is that of a causal mask, which old files have for each layer:
// h.N.attn.bias, h.N.attn.masked_bias.
func isMask(name string) bool {
	parts := strings.Split(name, ".")
	if len(parts) != 4 || parts[0] != "h" || parts[2] != "attn" || parts[3] != "bias" &&
		parts[3] != "masked_bias" {
		return false
	}
	_, err := strconv.Atoi(parts[1])
	return err == nil
}
