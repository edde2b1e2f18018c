package model

// Loaders find the tensors of a checkpoint by name, check that each is present with its shape and
// type, list what else the file holds, and make the stack's parameters of them. Save writes them.

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"picogpt/internal/outfile"
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
	held    map[string]any  // the weights by the names of their tensors; of a variant, its base's
	changed map[string]bool // of a variant: the tensors that are not its base's; nil: it is none
	ignored []string
	zeroed  []string // which tensors have weights that become zero in the format, and how many
	noHead  error    // why there is no head, nil if there is one
	err     error
	dry     bool // check only: no element is read

	virtualName    string // of the tensor of virtual tokens, "" for none
	virtualNumbers []float32

	progress func(done, total int64) // Options.Progress
	read     int64                   // bytes of the tensors used so far
}

// load reads the parameters. format is the wanted number format; "" and "auto" mean the stored one.
func (l *loader) load(format string) (*stack.Params, error) {
	l.used = map[string]bool{}
	if l.changed == nil {
		l.held = map[string]any{}
	}
	l.wantFormat(format)
	l.findPrefix()
	p := l.stack()
	l.virtualName, l.virtualNumbers = l.virtual()
	l.leftovers()
	return p, l.err
}

// stack reads the tensors that the configuration asks for, in the order of the forward pass.
func (l *loader) stack() *stack.Params {
	c := &l.config
	p := &stack.Params{
		Vocab: c.VocabSize, Positions: c.Positions, Embd: c.Embd, Heads: c.Head, Inner: c.Inner,
		CacheFormat: l.cache,
		Epsilon:     float32(c.LayerNormEpsilon), Activation: c.Activation.kernel(),
	}
	p.WTE = l.embedding()
	p.WPE = l.floats("wpe.weight", c.Positions, c.Embd)
	for i := 0; i < c.Layer && l.err == nil; i++ {
		h := fmt.Sprintf("h.%d.", i)
		p.H = append(p.H, stack.Block{
			Ln1:      l.norm(h + "ln_1"),
			CAttn:    l.linear(h+"attn.c_attn", c.Embd, 3*c.Embd),
			AttnProj: l.linear(h+"attn.c_proj", c.Embd, c.Embd),
			Ln2:      l.norm(h + "ln_2"),
			CFC:      l.linear(h+"mlp.c_fc", c.Embd, c.Inner),
			MLPProj:  l.linear(h+"mlp.c_proj", c.Inner, c.Embd),
			Scale:    c.attentionScale(i),
		})
	}
	p.LnF = l.norm("ln_f")
	p.LMHead = l.lmHead(&p.WTE)
	return p
}

// attentionScale returns the factor of a layer's attention scores.
func (c *Config) attentionScale(layer int) float32 {
	scale := 1.0
	if c.ScaleAttnWeights {
		scale = 1 / math.Sqrt(float64(c.Embd/c.Head))
	}
	if c.ScaleAttnByInverseLayerIdx {
		scale /= float64(layer + 1)
	}
	return float32(scale)
}

func (a Activation) kernel() kernels.Activation {
	switch a.Plain() {
	case GELU:
		return kernels.GELUErf
	case QuickGELU:
		return kernels.QuickGELU
	case ReLU:
		return kernels.ReLU
	case SiLU:
		return kernels.SiLU
	case Tanh:
		return kernels.Tanh
	case ReLU2:
		return kernels.ReLU2
	case Mish:
		return kernels.Mish
	default: // gelu_new
		return kernels.GELUTanh
	}
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
	if l.shares(t.Name) {
		return l.held[t.Name].([]float32)
	}
	x, err := t.Float32s()
	if err != nil {
		l.fail("%w", err)
	}
	l.hold(t.Name, x)
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
// if the config says that they are tied. If there is none it returns nil, and sets noHead.
func (l *loader) lmHead(wte *kernels.Matrix) *kernels.Matrix {
	embedding, _ := l.tensors.Tensor(l.prefix + "wte.weight")
	for _, name := range headNames {
		t, ok := l.tensors.Tensor(name)
		if !ok || l.err != nil {
			continue
		}
		same := false
		switch _, own := l.held[name]; {
		case l.dry:
		case l.shares(name) && l.shares(embedding.Name):
			same = !own
		default:
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
		l.noHead = fmt.Errorf("%s: missing, want shape [%d %d], since tie_word_embeddings is false: %w",
			headNames[0], l.config.VocabSize, l.config.Embd, ErrNoLogits)
		return nil
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

// Save writes the model's weights to a file that checkpoint.Open maps without conversion: f32, f16
// and bf16 as Hugging Face stores them, q8 and q4 in this project's layout. Names have no prefix;
// the tensors that Ignored lists are left out. config.json is not written.
//
// In q8 and q4 a matrix is a U8 tensor [tiles, bytes in a tile] under its usual name, with the
// bytes that kernels/quant.go describes; wte, and lm_head if there is one, are q8 in both. wpe,
// layer norms and biases are F32 in all formats. The file's metadata has the format's name under
// "picogpt.format".
//
// Save takes its turn with Eval. If the context ends, no file is left.
func (m *Model) Save(ctx context.Context, path string) error {
	return m.Export(ctx, func(tensors []weights.Tensor) error {
		return weights.WriteFile(ctx, path, m.metadata(), tensors)
	})
}

// SaveTo writes the bytes of Save's file to w.
func (m *Model) SaveTo(ctx context.Context, w io.Writer) error {
	return m.Export(ctx, func(tensors []weights.Tensor) error {
		return weights.Write(outfile.Cancellable(ctx, w), m.metadata(), tensors)
	})
}

// Export calls f with the tensors that Save writes, in the order of the forward pass. They are
// valid until f returns. Export takes its turn with Eval.
func (m *Model) Export(ctx context.Context, f func(tensors []weights.Tensor) error) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	if m.virtual > 0 {
		return errVirtualSaved
	}
	return f(m.tensors())
}

// SaveSize returns the number of bytes of all tensors that Save writes. The file has a header
// besides.
func (m *Model) SaveSize() int64 {
	var n int64
	for _, t := range m.tensors() {
		n += t.Size()
	}
	return n
}

func (m *Model) metadata() map[string]string {
	return map[string]string{"format": "pt", "picogpt.format": m.Format()}
}

// tensors returns the tensors of the stack in the order of the forward pass.
func (m *Model) tensors() []weights.Tensor {
	p, c := m.params, &m.config
	ts := []weights.Tensor{matrixTensor("wte.weight", &p.WTE),
		floatsTensor("wpe.weight", p.WPE, c.Positions, c.Embd)}
	ln := func(name string, n stack.Norm) {
		ts = append(ts, floatsTensor(name+".weight", n.Gain, c.Embd),
			floatsTensor(name+".bias", n.Bias, c.Embd))
	}
	layer := func(name string, l *stack.Linear) {
		ts = append(ts, matrixTensor(name+".weight", &l.Weight),
			floatsTensor(name+".bias", l.Bias, l.Weight.Out))
	}
	for i := range p.H {
		b, h := &p.H[i], fmt.Sprintf("h.%d.", i)
		ln(h+"ln_1", b.Ln1)
		layer(h+"attn.c_attn", &b.CAttn)
		layer(h+"attn.c_proj", &b.AttnProj)
		ln(h+"ln_2", b.Ln2)
		layer(h+"mlp.c_fc", &b.CFC)
		layer(h+"mlp.c_proj", &b.MLPProj)
	}
	ln("ln_f", p.LnF)
	// a config that does not tie wants a head in the file, even if the head is wte
	if p.LMHead != nil && (p.LMHead != &p.WTE || !c.TieWordEmbeddings) {
		ts = append(ts, matrixTensor(headNames[0], p.LMHead))
	}
	return ts
}

func floatsTensor(name string, x []float32, shape ...int) weights.Tensor {
	return weights.Tensor{Name: name, DType: weights.F32, Shape: shape,
		Fill: func(dst []byte, from int64) error {
			for i := range len(dst) / 4 {
				v := x[int(from)/4+i]
				binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
			}
			return nil
		}}
}

func matrixTensor(name string, m *kernels.Matrix) weights.Tensor {
	shape := []int{m.In, m.Out}
	if m.Layout == kernels.OutIn {
		shape = []int{m.Out, m.In}
	}
	switch m.Format {
	case kernels.F32:
		return floatsTensor(name, m.F32, shape...)
	case kernels.F16, kernels.BF16:
		t := weights.Tensor{Name: name, DType: weights.F16, Shape: shape}
		if m.Format == kernels.BF16 {
			t.DType = weights.BF16
		}
		t.Fill = func(dst []byte, from int64) error {
			for i := range len(dst) / 2 {
				binary.LittleEndian.PutUint16(dst[2*i:], m.F16[int(from)/2+i])
			}
			return nil
		}
		return t
	default:
		return weights.Tensor{Name: name, DType: weights.U8,
			Shape: blocksShape(m.Format, m.In, m.Out), Data: m.Blocks}
	}
}
