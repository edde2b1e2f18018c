package cuda

// Faults in the PTX are caught: each barrier removed in turn, and each product that feeds a sum
// fused with it.

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"picogpt/gpu"
	"picogpt/internal/fixture"
	"picogpt/internal/ptx"
	"picogpt/internal/testmodel"
	"picogpt/model"
)

// A suite tells a text of PTX from the right one by what it computes.
type suite struct {
	config, file []byte
	want         map[way][][]float32
}

func allWays() []way {
	return []way{{"f32", "f32"}, {"f16", "f16"}, {"bf16", "f32"}, {"q8", "f16"}, {"q4", "f32"}}
}

func newSuite(t *testing.T) *suite {
	o := fixture.Options{Seed: 4, Vocab: 19, Positions: 80, Embd: 18, Head: 2, Layer: 1}
	s := &suite{want: map[way][][]float32{}}
	s.config, s.file = fixture.Checkpoint(o)
	for _, w := range allWays() {
		rows, err := sentence(testmodel.New(t, s.config, s.file, w.options()))
		if err != nil {
			t.Fatal(err)
		}
		s.want[w] = rows
	}
	return s
}

// sentence evaluates a prompt of more tokens than there are lanes, and one after it.
func sentence(m *model.Model) (rows [][]float32, err error) {
	s := m.NewSession()
	for _, ids := range [][]int{{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5}, {8}} {
		err := m.Eval(context.Background(), model.Input{Session: s, Tokens: ids})
		if err != nil {
			return rows, err
		}
		rows = append(rows, append([]float32(nil), s.Logits()...))
	}
	return rows, nil
}

// wrong says what is wrong with a text of PTX, or nothing.
func (s *suite) wrong(text string) error {
	p, err := ptx.Parse(text)
	if err != nil {
		return err
	}
	if err := errors.Join(quantized(p), found(p)); err != nil {
		return err
	}
	for _, w := range allWays() {
		o := w.options()
		o.Device = ptx.Device(p).WithoutProbe()
		m, err := testmodel.Try(s.config, s.file, o)
		if err != nil {
			return err
		}
		got, err := sentence(m)
		if err = errors.Join(err, m.Close()); err != nil {
			return err
		}
		if d := differs(got, s.want[w]); d != "" {
			return fmt.Errorf("%s, cache %s: %s", w.weights, w.cache, d)
		}
	}
	return nil
}

// launch runs a kernel on one group. Arguments are bytes, of which it has a buffer, or integers; it
// returns what the first buffer then holds.
func launch(p *ptx.Program, kernel string, items int, args ...any) ([]byte, error) {
	d := ptx.NewDriver(p, 1)
	l := gpu.Launch{Kernel: kernel, Groups: [3]int{1, 1, 1}, Items: items}
	for _, a := range args {
		n, isNumber := a.(int)
		if isNumber {
			l.Args = append(l.Args, gpu.Arg{Bits: uint64(uint32(n)), Size: 4})
			continue
		}
		b, err := d.Alloc(int64(len(a.([]byte))))
		if err == nil {
			err = d.Write(b, 0, a.([]byte))
		}
		if err != nil {
			return nil, err
		}
		l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
	}
	if err := d.Launch(&l); err != nil {
		return nil, err
	}
	result := make([]byte, len(args[0].([]byte)))
	return result, d.Read(result, gpu.Buffer(l.Args[0].Bits), 0)
}

func floatBytes(x []float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

// quantized compares the integers that kernel quantize makes of one row with those of their
// definition: a product, rounded, and then rounded to an integer.
func quantized(p *ptx.Program) error {
	const n = 1 << 13
	r := rand.New(rand.NewPCG(1, 2))
	x, peak := make([]float32, n), float32(0)
	for i := range x {
		x[i] = float32(r.NormFloat64())
		peak = max(peak, x[i], -x[i])
	}
	q, err := launch(p, "quantize", 64, make([]byte, 2*n), make([]byte, n/8), make([]byte, 4),
		floatBytes(x), n, n/32)
	if err != nil {
		return err
	}
	inverse := 32767 / peak
	for i, v := range x {
		product := float64(float32(v * inverse))
		got := int16(binary.LittleEndian.Uint16(q[2*i:]))
		if got != int16(math.RoundToEven(product)) {
			return fmt.Errorf("quantize: number %d is %d, want %g rounded", i, got, product)
		}
	}
	return nil
}

// found looks for what is not finite in a row.
func found(p *ptx.Program) error {
	x := make([]float32, 700)
	x[300], x[600] = float32(math.Inf(1)), float32(math.NaN())
	first, err := launch(p, "finite", 256, make([]byte, 4), floatBytes(x), len(x))
	if err == nil && binary.LittleEndian.Uint32(first) != 300 {
		err = fmt.Errorf("finite: %d, want 300", binary.LittleEndian.Uint32(first))
	}
	return err
}

func TestTheSuiteAcceptsThePTX(t *testing.T) {
	if err := newSuite(t).wrong(kernels); err != nil {
		t.Error(err)
	}
}

func TestEveryRemovedBarrierIsCaught(t *testing.T) {
	s := newSuite(t)
	const barrier = "	bar.sync 	0;\n"
	n := strings.Count(kernels, barrier)
	if n < 10 {
		t.Fatalf("%d barriers", n)
	}
	at := 0
	for range n {
		at += strings.Index(kernels[at:], barrier)
		err := s.wrong(kernels[:at] + kernels[at+len(barrier):])
		if err == nil {
			t.Errorf("the barrier at byte %d is removed, in kernel %s, and nothing is wrong", at,
				kernelAt(at))
		}
		at += len(barrier)
	}
}

// kernelAt names the kernel at a byte of the PTX.
func kernelAt(at int) string {
	all := regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(kernels[:at], -1)
	return all[len(all)-1][1]
}

// Whoever compiles without -ffp-contract=off gets fma where the source has a product and a sum.
func TestEveryContractionIsCaught(t *testing.T) {
	s := newSuite(t)
	all := contracted(kernels)
	if len(all) < 4 {
		t.Fatalf("%d products feed sums", len(all))
	}
	for _, c := range all {
		err := s.wrong(c.text)
		switch c.kernel {
		case "probe": // which is the last to be run: when the device is opened
			err = s.probed(c.text)
		case "embed_q8", "embed_q4": // a product of 8 bits by 8 is exact: nothing to see
			if err != nil {
				t.Errorf("%s: %v", c.kernel, err)
			}
			continue
		}
		if err == nil {
			t.Errorf("%s: %s: fused, and nothing is wrong", c.kernel, c.line)
		}
	}
}

// probed opens a device with the probe.
func (s *suite) probed(text string) error {
	p, err := ptx.Parse(text)
	if err != nil {
		return err
	}
	m, err := testmodel.Try(s.config, s.file, model.Options{Device: ptx.Device(p)})
	if err == nil {
		err = m.Close()
	}
	return err
}

type contraction struct{ kernel, line, text string }

// contracted makes texts in which one product is fused with the sum that it feeds.
func contracted(text string) (all []contraction) {
	product := regexp.MustCompile(`\tmul\.rn\.f32 \t(%f\d+), (\S+), (\S+);\n`)
	for _, m := range product.FindAllStringSubmatchIndex(text, -1) {
		part := func(i int) string { return text[m[2*i]:m[2*i+1]] }
		end := m[1] + strings.Index(text[m[1]:], "\n}\n")
		body := text[m[1]:end]
		result := regexp.QuoteMeta(part(1)) + `\b`
		sum := regexp.MustCompile(`\t(add|sub)\.rn\.f32 \t(%f\d+), (\S+), (\S+);\n`)
		uses := regexp.MustCompile(result).FindAllStringIndex(body, -1)
		for _, u := range sum.FindAllStringSubmatchIndex(body, -1) {
			of := func(i int) string { return body[u[2*i]:u[2*i+1]] }
			const negative = "%f9999"
			x, y, z, negate := part(2), part(3), of(4), ""
			switch {
			case len(uses) != 1:
				continue
			case of(1) == "add" && of(4) == part(1): // z + x·y
				z = of(3)
			case of(3) == part(1) && of(1) == "sub": // x·y − z
				z, negate = negative, of(4)
			case of(4) == part(1): // z − x·y
				x, negate, z = negative, x, of(3)
			case of(3) != part(1):
				continue
			}
			fused := fmt.Sprintf("\tfma.rn.f32 \t%s, %s, %s, %s;\n", of(2), x, y, z)
			if negate != "" {
				fused = fmt.Sprintf("\tneg.f32 \t%s, %s;\n", negative, negate) + fused
			}
			all = append(all, contraction{kernelAt(m[0]), strings.TrimSpace(text[m[0]:m[1]]),
				text[:m[0]] + body[:u[0]] + fused + body[u[1]:] + text[end:]})
		}
	}
	return all
}
