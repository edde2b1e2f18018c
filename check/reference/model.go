// A whole picoGPT: opened from its files, as picoGPT's utils.py does, where nlpodyssey/safetensors
// reads the weights; then text in, text out.

package reference

import (
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nlpodyssey/safetensors"
	"gonum.org/v1/gonum/floats"
)

// A Model is what picoGPT's main has: hyperparameters, weights and an encoder. Open makes one.
type Model struct {
	HParams HParams
	Params  *Params

	Encoder   *Encoder // nil if the tokenizer is of a kind that it does not do
	NoEncoder error    // why there is none
}

// Options say how a checkpoint is opened. The zero value is usual.
type Options struct {
	// Memory, if it is not 0, is the most bytes that the weights may take. A larger model is an
	// error before any of it is read.
	Memory int64

	// Before, if it is not nil, is called with the bytes that the weights will take, 8 for each,
	// before any of them is read. Its error ends Open.
	Before func(bytes int64) error

	// Progress, if it is not nil, is called after each tensor.
	Progress func(done, total int64)
}

// Open opens the checkpoint in a folder with the default Options.
func Open(dir string) (*Model, error) { return Options{}.Open(dir) }

// Open opens the checkpoint in a folder, as Hugging Face's transformers writes it: config.json, and
// model.safetensors or its parts with model.safetensors.index.json; or a file of weights or an index,
// with its config.json beside it. The tokenizer is the checkpoint's own: vocab.json and merges.txt, or what
// tokenizer.json has of byte-level BPE. Where there is none, it is GPT-2's if the vocabulary has
// room for it. Any other kind is no error: Model.NoEncoder says what it is.
//
// Nothing is loaded if a tensor is not what the config says.
func (o Options) Open(dir string) (*Model, error) {
	name := "model.safetensors"
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		dir, name = filepath.Split(dir)
	}
	dir = filepath.Clean(dir)
	m, err := o.openFS(os.DirFS(dir), name)
	if lost, ok := errors.AsType[*fs.PathError](err); ok {
		return nil, fmt.Errorf("%s: %w", filepath.Join(dir, lost.Path), lost.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	return m, nil
}

// OpenFS is Open for the files in fsys.
func (o Options) OpenFS(fsys fs.FS) (*Model, error) { return o.openFS(fsys, "model.safetensors") }

func (o Options) openFS(fsys fs.FS, name string) (*Model, error) {
	hp, err := readHParams(fsys)
	if err != nil {
		return nil, err
	}
	files, err := openFiles(fsys, name)
	if err != nil {
		return nil, err
	}
	defer files.close()
	m, err := o.New(hp, files)
	if err != nil {
		return nil, err
	}
	m.Encoder, m.NoEncoder = OpenEncoderFS(fsys)
	return m, nil
}

// readHParams reads the config.json in fsys.
func readHParams(fsys fs.FS) (HParams, error) {
	config, err := fs.ReadFile(fsys, "config.json")
	if err != nil {
		return HParams{}, err
	}
	return ParseHParams(config)
}

// A Source has tensors with Hugging Face's names.
type Source interface {
	// Names returns the names of all tensors.
	Names() []string

	// Shape returns the shape of a tensor, and whether there is one of that name.
	Shape(name string) (shape []int, ok bool)

	// Read returns a tensor's values in row-major order.
	Read(name string) ([]float64, error)
}

// New returns a Model without an Encoder, with the weights of a source, as FromTensors takes them.
// All shapes are checked before anything is read.
func (o Options) New(hp HParams, s Source) (*Model, error) {
	if err := checkLayers(hp, s.Names()); err != nil {
		return nil, err
	}
	check := reader{shapeOnly: true, get: func(name string) ([]float64, []int, bool) {
		shape, ok := s.Shape(name)
		return nil, shape, ok
	}}
	if check.params(hp); check.err != nil {
		return nil, fmt.Errorf("%w by config.json", check.err)
	}
	bytes := 8 * check.values
	if o.Memory > 0 && bytes > o.Memory {
		return nil, fmt.Errorf("memory: %d weights take %.1f GB as float64, 8 bytes each, and "+
			"%.1f GB are free", check.values, float64(bytes)/1e9, float64(o.Memory)/1e9)
	}
	if o.Before != nil {
		if err := o.Before(bytes); err != nil {
			return nil, err
		}
	}
	var failed error
	done, read := int64(0), map[string][]float64{}
	p, err := FromTensors(hp, func(name string) ([]float64, []int, bool) {
		shape, ok := s.Shape(name)
		if !ok || failed != nil {
			return nil, nil, false
		}
		data, again := read[name]
		if !again {
			if data, failed = s.Read(name); failed != nil {
				return nil, nil, false
			}
			read[name] = data
			if done += 8 * int64(len(data)); o.Progress != nil {
				o.Progress(done, bytes)
			}
		}
		return data, shape, true
	})
	if failed != nil {
		return nil, failed
	}
	return &Model{HParams: hp, Params: p}, err
}

// checkLayers refuses tensors of blocks that the config does not have.
func checkLayers(hp HParams, names []string) error {
	for _, name := range names {
		rest, ok := strings.CutPrefix(strings.TrimPrefix(name, "transformer."), "h.")
		number, _, _ := strings.Cut(rest, ".")
		if layer, err := strconv.Atoi(number); ok && err == nil && layer >= hp.Layer {
			return fmt.Errorf("%s: a tensor of block %d, want blocks 0 to %d by n_layer %d of "+
				"config.json", name, layer, hp.Layer-1, hp.Layer)
		}
	}
	return nil
}

// files are the tensors of one or more safetensors files. Headers are read at once, tensors one by
// one.
type files struct {
	tensors map[string]tensor
	open    []fs.File
	buffer  []byte // for the bytes of one tensor after another
}

// A tensor is a place in a file.
type tensor struct {
	*safetensors.TensorInfo
	file string
	from io.ReaderAt // at offset 0 the data begin
}

func openFiles(fsys fs.FS, name string) (*files, error) {
	names := []string{name}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	_, err := fs.Stat(fsys, name)
	if name == "model.safetensors" && errors.Is(err, fs.ErrNotExist) {
		name += ".index.json"
	}
	if strings.HasSuffix(name, ".json") {
		found, err := readJSON(fsys, name, &index)
		if err != nil {
			return nil, err
		}
		if found {
			names = nil
			for _, part := range index.Map {
				if !slices.Contains(names, part) {
					names = append(names, part)
				}
			}
		}
	}
	f := &files{tensors: map[string]tensor{}}
	for _, name := range names {
		if err := f.add(fsys, path.Clean(name)); err != nil {
			f.close()
			return nil, err
		}
	}
	return f, nil
}

// add reads the header of a file: its length, and JSON that says where each tensor is.
func (f *files) add(fsys fs.FS, name string) error {
	file, err := fsys.Open(name)
	if err != nil {
		return err
	}
	f.open = append(f.open, file)
	info, err := file.Stat()
	if err != nil {
		return err
	}
	from, ok := file.(io.ReaderAt)
	if !ok || !info.Mode().IsRegular() {
		return fmt.Errorf("%s: want a regular file", name)
	}
	var length [8]byte
	if _, err := from.ReadAt(length[:], 0); err != nil {
		return fmt.Errorf("%s: no header: %w", name, err)
	}
	n := binary.LittleEndian.Uint64(length[:])
	if n > uint64(info.Size())-8 {
		return fmt.Errorf("%s: a header of %d bytes in a file of %d", name, n, info.Size())
	}
	header := make([]byte, n)
	if _, err := from.ReadAt(header, 8); err != nil {
		return fmt.Errorf("%s: header: %w", name, err)
	}
	var m safetensors.Metadata
	if err := json.Unmarshal(header, &m); err != nil {
		return fmt.Errorf("%s: header: %w", name, err)
	}
	size := info.Size() - 8 - int64(n)
	for tensorName, t := range m.Tensors() {
		begin, end := t.DataOffsets[0], t.DataOffsets[1]
		if begin > end || end > uint64(size) {
			return fmt.Errorf("%s: %s: bytes %d to %d of %d", name, tensorName, begin, end, size)
		}
		f.tensors[tensorName] = tensor{t, name, io.NewSectionReader(from, 8+int64(n), size)}
	}
	return nil
}

func (f *files) close() {
	for _, file := range f.open {
		file.Close()
	}
}

// Names implements Source.
func (f *files) Names() []string {
	var names []string
	for name := range f.tensors {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Shape implements Source.
func (f *files) Shape(name string) ([]int, bool) {
	t, ok := f.tensors[name]
	if !ok {
		return nil, false
	}
	shape := make([]int, len(t.Shape))
	for i, n := range t.Shape {
		shape[i] = int(min(n, math.MaxInt))
	}
	return shape, true
}

// Read implements Source.
func (f *files) Read(name string) ([]float64, error) {
	t := f.tensors[name]
	n := int(t.DataOffsets[1] - t.DataOffsets[0])
	f.buffer = slices.Grow(f.buffer[:0], n)
	b := f.buffer[:n]
	if _, err := t.from.ReadAt(b, int64(t.DataOffsets[0])); err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.file, name, err)
	}
	view, err := safetensors.NewTensorView(t.DType, t.Shape, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.file, name, err)
	}
	values, err := widen(view)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", t.file, name, err)
	}
	return values, nil
}

// widen returns the values of a tensor.
func widen(t safetensors.TensorView) ([]float64, error) {
	b := t.Data()
	var value func(i int) float64
	switch t.DType() {
	case safetensors.F64:
		value = func(i int) float64 {
			return math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
		}
	case safetensors.F32:
		value = func(i int) float64 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case safetensors.F16:
		value = func(i int) float64 { return fromHalf(binary.LittleEndian.Uint16(b[2*i:])) }
	case safetensors.BF16: // the upper half of an F32
		value = func(i int) float64 {
			return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		}
	default:
		return nil, fmt.Errorf("numbers of type %s, want F64, F32, F16 or BF16", t.DType())
	}
	values := make([]float64, len(b)/int(t.DType().Size()))
	for i := range values {
		values[i] = value(i)
	}
	return values, nil
}

// Logits is GPT2 with the model's weights. It ends with ctx, between two blocks.
func (m *Model) Logits(ctx context.Context, ids []int) (*Matrix, error) {
	p := *m.Params
	p.Watch = func(layer int, x *Matrix) error {
		if m.Params.Watch != nil {
			if err := m.Params.Watch(layer, x); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	return GPT2(ids, &p, m.HParams)
}

// Generate yields the n tokens that follow ids. Each is the one that choose returns, given the
// logits [n_vocab] after all tokens before it; nil takes the largest logit, the lowest id among
// equals. The loop ends with the first error, one of GPT2, choose or ctx. That all n fit into the
// context is checked before the first.
func (m *Model) Generate(
	ctx context.Context, ids []int, n int, choose func(logits []float64) (int, error),
) iter.Seq2[int, error] {
	if choose == nil {
		choose = func(logits []float64) (int, error) { return floats.MaxIdx(logits), nil }
	}
	return func(yield func(int, error) bool) {
		if len(ids)+n-1 > m.HParams.Positions {
			yield(0, fmt.Errorf("%d tokens and %d new ones (the last takes no position), want at "+
				"most n_positions, %d", len(ids), n, m.HParams.Positions))
			return
		}
		ids := append([]int(nil), ids...)
		for range n {
			logits, err := m.Logits(ctx, ids) // [n_seq, n_vocab]
			if err != nil {
				yield(0, err)
				return
			}
			next, err := choose(logits.Row(len(ids) - 1))
			if !yield(next, err) || err != nil {
				return
			}
			ids = append(ids, next)
		}
	}
}

// A Score is how well a text is predicted.
type Score struct {
	NLL    float64 // the mean negative log-likelihood of the scored tokens, in nats
	Scored int     // how many there are, as the protocol counts them
}

// Perplexity returns e to the power of the mean.
func (s Score) Perplexity() float64 { return math.Exp(s.NLL) }

// Perplexity scores a text by Hugging Face's strided windows
// (huggingface.co/docs/transformers/perplexity): windows of at most window tokens advance by
// stride, and each token is scored once, with the tokens before it in its window; the first has
// none and is not scored. The zero of window is the model's n_positions, that of stride the window.
// A window's mean is weighted as there: by one less than its new tokens. done, if it is not nil, is
// called after each window with the tokens behind it and the score so far.
func (m *Model) Perplexity(
	ctx context.Context, ids []int, window, stride int, done func(tokens int, so Score),
) (Score, error) {
	window = cmp.Or(window, m.HParams.Positions)
	stride = cmp.Or(stride, window)
	switch {
	case window < 2 || window > m.HParams.Positions:
		return Score{}, fmt.Errorf("window: %d, want 2 to n_positions, %d", window,
			m.HParams.Positions)
	case stride < 1 || stride > window:
		return Score{}, fmt.Errorf("stride: %d, want 1 to %d, the window", stride, window)
	case len(ids) < 2:
		return Score{}, fmt.Errorf("text: %d tokens, want at least 2", len(ids))
	}
	var s Score
	total := 0.0
	for begin, scored := 0, 0; scored < len(ids); begin += stride {
		end := min(begin+window, len(ids))
		fresh := end - scored
		scored = end
		targets := min(fresh, end-begin-1)
		if targets < 1 {
			continue
		}
		logits, err := m.Logits(ctx, ids[begin:end]) // [end-begin, n_vocab]
		if err != nil {
			return s, err
		}
		sum := 0.0
		for i := end - targets; i < end; i++ {
			row := logits.Row(i - begin - 1)
			sum += floats.LogSumExp(row) - row[ids[i]]
		}
		total += sum / float64(targets) * float64(fresh-1)
		s.Scored += fresh - 1
		s.NLL = total / float64(s.Scored)
		if done != nil {
			done(end, s)
		}
	}
	return s, nil
}
