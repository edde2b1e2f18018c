package cuda

// Faults in the PTX are detected: each barrier is removed in turn, and each product that is added
// to a sum is fused with it. The right results are those of the PTX that ships, which other tests
// compare with the processor.

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strings"
	"sync"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/ptx"
	"picogpt/dev/testmodel"
	"picogpt/model"
	"picogpt/model/gpu"
)

// workloads has a launch of one group for a kernel, by the beginning of its name: sizes that go
// through its loops more than once.
func workloads(seed uint64) map[string]func(kernel string) (items int, args []any) {
	r := rand.New(rand.NewPCG(1, seed))
	floats := func(n int) []byte {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(r.NormFloat64())
		}
		return floatBytes(x)
	}
	ints := func(x ...int) (b []byte) {
		for _, v := range x {
			b = binary.LittleEndian.AppendUint32(b, uint32(v))
		}
		return b
	}
	// numbers are small in every format, as 16 bits or as bytes of a tile too
	numbers := func(kernel string, n int) []byte {
		if strings.HasSuffix(kernel, "32") {
			return floats(n)
		}
		b := make([]byte, 4*n)
		for i := range b {
			b[i] = byte(r.IntN(60))
		}
		return b
	}
	// one text of so many positions, whose last rows are those of the pass
	plan := func(rows, positions, second int) []byte { // of the group of attention
		var all []int
		for i := range rows {
			all = append(all, i, positions-rows+i, 4*rows+2, i)
		}
		all = append(all, 0, second)
		for i := range (positions + 63) / 64 {
			all = append(all, i)
		}
		return ints(all...)
	}
	bits := func(x float32) int { return int(math.Float32bits(x)) }
	const dim = 5
	return map[string]func(kernel string) (int, []any){
		"layer_norm": func(string) (int, []any) {
			const n = 4166 // more than local memory has at a time
			return 256, []any{make([]byte, 4*n), make([]byte, 2*(n+32)), make([]byte, 4), floats(n),
				floats(3 * n), 3, 1, ints(0, 0, 0, 0), -1, floats(n), floats(n), n, bits(1e-5)}
		},
		"chains_one_": func(k string) (int, []any) {
			return 256, []any{floats(16), floats(3 * 60), numbers(k, 16*60), floats(16), 3, 0, 60, 16}
		},
		"chains_few_": func(k string) (int, []any) {
			return 256, []any{floats(9 * 16), floats(9 * 200), numbers(k, 16*200), floats(16), 9,
				200, 16}
		},
		"chains_many_": func(k string) (int, []any) {
			return 128, []any{floats(60 * 60), floats(60 * 70), numbers(k, 70*60), floats(60), 60,
				70, 60, 1}
		},
		"chains_most_": func(k string) (int, []any) { // of two segments
			return 256, []any{floats(40 * 70), floats(40 * 270), numbers(k, 270*70), floats(70), 40,
				270, 70, 2}
		},
		"dots_one_": func(k string) (int, []any) {
			return 64, []any{floats(8), floats(30), numbers(k, 8*30), 1, 30, 8}
		},
		"dots_tile_": func(k string) (int, []any) {
			return 64, []any{floats(32 * 8), floats(8 * 30), numbers(k, 32*30), 8, 30, 32}
		},
		"best_maxima": func(string) (int, []any) {
			return 256, []any{floats(32), floats(700), 700, 32}
		},
		"best_runs": func(string) (int, []any) { // one chunk of two
			return 256, []any{make([]byte, 4*(4+4*65)), floats(64), floats(2048), 2048, 64, 4}
		},
		"best_terms": func(string) (int, []any) {
			return 256, []any{make([]byte, 8*2048), floats(32), floats(1500), 1500, 32}
		},
		"best_sum": func(string) (int, []any) {
			var terms []byte
			for range 2 * 2048 {
				terms = binary.LittleEndian.AppendUint64(terms, math.Float64bits(r.Float64()))
			}
			return 256, []any{make([]byte, 4*(4+4*65)), terms, 64, 4}
		},
		"quantize": func(string) (int, []any) {
			const n = 1 << 13
			return 256, []any{make([]byte, 2*n), make([]byte, 4), floats(n), n}
		},
		"integers_": func(k string) (int, []any) {
			rows, blocks, activation := 3, 40, -1
			switch {
			case strings.HasPrefix(k, "integers_one"): // it makes the integers
				blocks = 140
				return 256, []any{floats(16), nil, nil, floats(32 * blocks),
					numbers("", blocks*136), floats(16), 32 * blocks, blocks, 16, activation}
			case strings.HasPrefix(k, "integers_many"):
				rows, blocks, activation = 40, 9, 0
			}
			return 256, []any{floats(rows * 16), numbers("", rows*blocks*16), floats(rows),
				numbers("", blocks*136), floats(16), rows, blocks, 16, activation}
		},
		"attend_one_": func(k string) (int, []any) {
			const keys = 1100 // more than 16 blocks
			return 256, []any{make([]byte, 4*dim), make([]byte, 4*3*dim), floats(3 * 3 * dim), 3,
				numbers(k, 18*2*dim*64), plan(1, keys, 0), 4, 1, 1, dim, dim, 1, 0, bits(0.5)}
		},
		"attend_tile_": func(k string) (int, []any) {
			const dim = 66 // more than local memory has of a query at a time
			return 256, []any{floats(16 * dim), floats(16 * 3 * dim), numbers(k, 3*2*dim*64),
				plan(16, 150, 16), 64, 1, dim, 1, 0, bits(0.1)}
		},
		"embed_": nil, // a product of 8 bits by 8 is exact: nothing to see
		"probe":  nil, // see probed; of probe_double too
	}
}

// run makes the launch of a kernel. The seeds are those of its data, and of the order of items.
func run(p *ptx.Program, kernel string, data, order uint64) ([]byte, error) {
	for prefix, make := range workloads(data) {
		if strings.HasPrefix(kernel, prefix) && make != nil {
			items, args := make(kernel)
			return launch(p, kernel, order, items, args...)
		}
	}
	return nil, fmt.Errorf("%s: no work for it", kernel)
}

// right is the program that ships.
var right = sync.OnceValues(func() (*ptx.Program, error) { return ptx.Parse(kernels) })

// rightBits has what the right kernels give: a function of a kernel and a seed, for all faults of
// it.
var rightBits sync.Map

// wrong says what is wrong with a kernel of a text of PTX, or nothing.
func wrong(text, kernel string, seeds uint64) error {
	p, err := ptx.Parse(text)
	if err != nil {
		return err
	}
	right, err := right()
	if err != nil {
		return err
	}
	for seed := range seeds {
		known, _ := rightBits.LoadOrStore([2]any{kernel, seed}, sync.OnceValues(func() ([]byte, error) {
			return run(right, kernel, seed, 1)
		}))
		want, err := known.(func() ([]byte, error))()
		if err != nil {
			panic(err)
		}
		got, err := run(p, kernel, seed, seed+2)
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			return fmt.Errorf("%s gives other bits", kernel)
		}
	}
	return nil
}

// launch runs a kernel on one group. Arguments are bytes, of which it has a buffer, nil for a null
// pointer, or integers; it returns what the buffers then hold.
func launch(
	p *ptx.Program, kernel string, seed uint64, items int, args ...any,
) ([]byte, error) {
	d := ptx.NewDriver(p, seed)
	l := gpu.Launch{Kernel: kernel, Groups: [3]int{1, 1, 1}, Items: items}
	for _, a := range args {
		switch a := a.(type) {
		case int:
			l.Args = append(l.Args, gpu.Arg{Bits: uint64(uint32(a)), Size: 4})
		case []byte:
			b, err := d.Alloc(int64(len(a)))
			if err == nil {
				err = d.Write(b, 0, a)
			}
			if err != nil {
				return nil, err
			}
			l.Args = append(l.Args, gpu.Arg{Bits: uint64(b), Size: 8})
		default:
			l.Args = append(l.Args, gpu.Arg{Size: 8})
		}
	}
	if err := d.Launch(&l); err != nil {
		return nil, err
	}
	var all []byte
	for i, a := range args {
		if a, ok := a.([]byte); ok {
			now := make([]byte, len(a))
			if err := d.Read(now, gpu.Buffer(l.Args[i].Bits), 0); err != nil {
				return nil, err
			}
			all = append(all, now...)
		}
	}
	return all, nil
}

func floatBytes(x []float32) (b []byte) {
	for _, v := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	return b
}

func TestWhatIsRightDoesNotDependOnTheOrder(t *testing.T) {
	cases.NotShort(t)
	for _, m := range regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(kernels, -1) {
		if !strings.Contains(kernels[strings.Index(kernels, m[0]):], "bar.sync") {
			continue
		}
		for prefix, make := range workloads(1) {
			if strings.HasPrefix(m[1], prefix) && make != nil {
				if err := wrong(kernels, m[1], 1); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

func TestEveryRemovedBarrierIsCaught(t *testing.T) {
	cases.NotShort(t)
	const barrier = "	bar.sync 	0;\n"
	for name, text := range shipped() {
		n := strings.Count(text, barrier)
		if n < 10 {
			t.Fatalf("%s: %d barriers", name, n)
		}
		at, some := 0, cases.Of(2, 1) // every other one
		for i := range n {
			at += strings.Index(text[at:], barrier)
			kernel := kernelAt(text, at)
			same := text != kernels && !strings.HasPrefix(kernel, "integers_many_")
			if i%some == 0 && !same &&
				wrong(text[:at]+text[at+len(barrier):], kernel, 8) == nil {
				t.Errorf("%s: the barrier at byte %d is removed, in kernel %s, and nothing is "+
					"wrong", name, at, kernel)
			}
			at += len(barrier)
		}
	}
}

// kernelAt names the kernel at a byte of a text of PTX.
func kernelAt(text string, at int) string {
	all := regexp.MustCompile(`\.entry (\w+)\(`).FindAllStringSubmatch(text[:at], -1)
	return all[len(all)-1][1]
}

// Whoever compiles without -ffp-contract=off gets fma where the source has a product and a sum.
func TestEveryContractionIsCaught(t *testing.T) {
	cases.NotShort(t)
	all := contracted(kernels)
	if len(all) < 4 {
		t.Fatalf("%d products feed sums", len(all))
	}
	for _, c := range cases.Some(all, len(all)/2, 0) {
		var err error
		switch c.kernel {
		case "embed_q8", "embed_q4": // see workloads
			continue
		case "probe", "probe_double":
			err = probed(c.text)
		default:
			err = wrong(c.text, c.kernel, 256) // few of an early sum's roundings are left in a late one
		}
		if err == nil {
			t.Errorf("%s: %s: fused, and nothing is wrong", c.kernel, c.line)
		}
	}
}

// probed opens a device, which is probed.
func probed(text string) error {
	p, err := ptx.Parse(text)
	if err != nil {
		return err
	}
	config, file := fixture.Checkpoint(fixture.Options{})
	m, err := testmodel.Try(config, file, model.Options{Device: ptx.Device(p)})
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
			all = append(all, contraction{kernelAt(text, m[0]), strings.TrimSpace(text[m[0]:m[1]]),
				text[:m[0]] + body[:u[0]] + fused + body[u[1]:] + text[end:]})
		}
	}
	return all
}
