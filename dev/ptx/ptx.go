// Package ptx interprets the PTX of the kernels, so that tests need no GPU. Only tests import it.
//
// A [Machine] runs a [Program] as the worst possible device would: groups in random order, the
// items of a group in random order from barrier to barrier, shared memory and new buffers full of
// NaN. It reports errors that a device may or may not show: an access outside a buffer or
// misaligned; two items or two groups that access the same cell, at least one of them to write,
// without a barrier between; a read of shared memory that was not written; a barrier that some
// items do not reach.
//
// It supports only floating-point instructions that round to nearest, once, and keep subnormal
// numbers: `.rn` if there is a choice. All others are refused when the program is read: `.ftz`,
// `.approx`, `mul.f32` and `add.f32` (which an assembler may fuse).
//
// The source is NVIDIA's "PTX ISA", chapter "Instruction Set". The weak ordering of memory between
// threads is not modelled; instead missing barriers are reported.
package ptx

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// A Program holds the kernels of one PTX module.
type Program struct {
	Target  string // such as sm_70
	kernels map[string]*kernel
}

const mostItems = 1024 // of a group, on CUDA devices

type kernel struct {
	name   string
	params []int // sizes in bytes
	lines  []string
	code   []instruction // of lines
	shared int           // bytes of shared memory
	most   int           // items of a group: those of .maxntid, or as many as a device has

	matrices []fragments // the operands of each mma

	// Registers and constants have the same numbering. first holds their values when an item
	// starts.
	first []uint64
	// the registers of the item's position: tid.x, ntid.x, ctaid.x, .y, .z; 0 if unused
	special [5]int

	// the smallest shared and global access, as 1<<n bytes: the size of a cell for touches
	sharedCell, globalCell uint8
}

// Params returns the sizes of a kernel's parameters in bytes.
func (p *Program) Params(kernel string) ([]int, error) {
	k, found := p.kernels[kernel]
	if !found {
		return nil, fmt.Errorf("ptx: no kernel %q", kernel)
	}
	return k.params, nil
}

// Parse reads PTX in clang's form: one instruction or directive on each line.
func Parse(text string) (*Program, error) {
	p := &Program{kernels: map[string]*kernel{}}
	const entry = ".visible .entry "
	head, rest, _ := strings.Cut(text, entry)
	for line := range strings.Lines(head) {
		line = strings.TrimSpace(line)
		target, isTarget := strings.CutPrefix(line, ".target ")
		switch {
		case isTarget:
			p.Target = target
		case line == "" || strings.HasPrefix(line, "//") || strings.HasPrefix(line, ".version ") ||
			line == ".address_size 64":
		default:
			return nil, fmt.Errorf("ptx: %q before the first kernel is not known", line)
		}
	}
	for part := range strings.SplitSeq(rest, entry) {
		known, found := parsed.Load(part)
		if !found {
			part = strings.Clone(part) // a program that a test has changed need not stay
			k, err := parseKernel(part)
			if err != nil {
				return nil, err
			}
			known, _ = parsed.LoadOrStore(part, k)
		}
		k := known.(*kernel)
		p.kernels[k.name] = k
	}
	return p, nil
}

// parsed are kernels by their text, which never change: tests load the same program many times.
var parsed sync.Map

// A parser reads one kernel.
type parser struct {
	*kernel
	families []string       // the beginnings of the names of registers: `%r` of `%r<39>`
	names    map[string]int // registers, constants and shared variables
	params   map[string]int // numbers of the parameters
	labels   map[string]int // the index of the instruction after each
}

// registers of an item; constants have some too. Register 0 is unused, so that 0 means none.
type registers [4096]uint64

func parseKernel(text string) (*kernel, error) {
	signature, body, found := strings.Cut(text, "\n{\n")
	name, list, ok := strings.Cut(signature, "(")
	if !found || !ok {
		return nil, fmt.Errorf("ptx: no body after .entry %.40q", text)
	}
	p := &parser{
		kernel: &kernel{name: name, first: make([]uint64, 1), sharedCell: 3, globalCell: 3,
			most: mostItems},
		names: map[string]int{}, params: map[string]int{}, labels: map[string]int{},
	}
	list, bounds, _ := strings.Cut(list, "\n)")
	if err := p.signature(list); err != nil {
		return nil, fmt.Errorf("ptx: kernel %s: %w", name, err)
	}
	for line := range strings.Lines(bounds) {
		if err := p.bound(strings.TrimSpace(line)); err != nil {
			return nil, fmt.Errorf("ptx: kernel %s: %w", name, err)
		}
	}
	for line := range strings.Lines(body) {
		if line == "}\n" {
			break
		}
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("ptx: kernel %s: %w", name, err)
		}
	}
	for _, line := range p.lines {
		in, err := p.instruction(line)
		if err != nil {
			return nil, fmt.Errorf("ptx: kernel %s: %q: %w", name, line, err)
		}
		p.code = append(p.code, in)
	}
	if len(p.first) > len(registers{}) {
		return nil, fmt.Errorf("ptx: kernel %s: %d registers and constants, want at most %d", name,
			len(p.first), len(registers{}))
	}
	for i, name := range specials() {
		p.special[i] = p.names[name]
	}
	return p.kernel, nil
}

// signature reads `.param .u64 add_param_0, .param .u32 add_param_1`.
func (p *parser) signature(list string) error {
	for param := range strings.SplitSeq(list, ",") {
		f := strings.Fields(param)
		if len(f) != 3 || f[0] != ".param" {
			return fmt.Errorf("parameter %q, want .param, a type and a name", param)
		}
		size, _, err := width(strings.TrimPrefix(f[1], "."))
		if err != nil {
			return err
		}
		p.kernel.params = append(p.kernel.params, size)
		p.params[f[2]] = len(p.params)
	}
	return nil
}

// bound reads what an assembler may count on: `.maxntid 256, 1, 1`, the most items of a group, and
// `.minnctapersm 2`, for how many groups at a time the registers are to suffice.
func (p *parser) bound(line string) error {
	if line == "" || strings.HasPrefix(line, ".minnctapersm ") {
		return nil
	}
	items, ok := strings.CutPrefix(line, ".maxntid ")
	items, isRow := strings.CutSuffix(items, ", 1, 1")
	n, err := strconv.Atoi(items)
	if !ok || !isRow || err != nil || n < 1 || n > mostItems {
		return fmt.Errorf("%q is not known", line)
	}
	p.kernel.most = n
	return nil
}

func specials() []string {
	return []string{"%tid.x", "%ntid.x", "%ctaid.x", "%ctaid.y", "%ctaid.z"}
}

// line reads a line of a kernel's body: a label, an instruction to be decoded later, or a
// directive.
func (p *parser) line(line string) error {
	line, _, _ = strings.Cut(line, "//")
	line = strings.TrimSuffix(strings.TrimSpace(line), ";")
	label, isLabel := strings.CutSuffix(line, ":")
	switch {
	case line == "" || strings.HasPrefix(line, ".pragma "):
	case strings.HasPrefix(line, ".reg "):
		f := strings.Fields(line)
		prefix, _, _ := strings.Cut(f[len(f)-1], "<")
		p.families = append(p.families, prefix)
	case isLabel:
		p.labels[label] = len(p.lines)
	case strings.HasPrefix(line, ".shared "):
		return p.sharedVariable(line)
	case line[0] == '.':
		return fmt.Errorf("%q is not known", line)
	default:
		line = strings.ReplaceAll(line, "\t", " ")
		if line[0] == '@' { // a predicate, which is a separate instruction here
			var predicate string
			predicate, line, _ = strings.Cut(line, " ")
			p.lines = append(p.lines, predicate)
		}
		p.lines = append(p.lines, strings.TrimSpace(line))
	}
	return nil
}

// sharedVariable assigns an address to `.shared .align 4 .b8 name[512]`.
func (p *parser) sharedVariable(line string) error {
	f := strings.Fields(line)
	if len(f) != 5 || f[1] != ".align" {
		return fmt.Errorf("%q: want .shared .align N TYPE NAME", line)
	}
	align, err := strconv.Atoi(f[2])
	if err != nil || align < 1 || align&(align-1) != 0 {
		return fmt.Errorf("%q: alignment %q, want a power of two", line, f[2])
	}
	size, _, err := width(strings.TrimPrefix(f[3], "."))
	if err != nil {
		return err
	}
	name, count, isArray := strings.Cut(f[4], "[")
	if isArray {
		n, err := strconv.Atoi(strings.TrimSuffix(count, "]"))
		if err != nil || n < 1 {
			return fmt.Errorf("%q: %q elements", line, count)
		}
		size *= n
	}
	p.shared = (p.shared + align - 1) &^ (align - 1)
	p.names[name] = p.value(sharedSegment<<segmentBits + uint64(p.shared))
	p.shared += size
	return nil
}

// value returns a new register with a constant.
func (p *parser) value(v uint64) int {
	p.first = append(p.first, v)
	return len(p.first) - 1
}

// operand returns the register of a name, or one with a constant.
func (p *parser) operand(s string) (uint16, error) {
	if n, found := p.names[s]; found {
		return uint16(n), nil
	}
	var v uint64
	var err error
	switch {
	case s == "":
		return 0, fmt.Errorf("an operand is missing")
	case s[0] == '%':
		if !slices.Contains(p.families, strings.TrimRight(s, "0123456789")) &&
			!slices.Contains(specials(), s) {
			return 0, fmt.Errorf("register %s is not declared", s)
		}
	case strings.HasPrefix(s, "0f"):
		v, err = strconv.ParseUint(s[2:], 16, 32)
	case strings.HasPrefix(s, "0d"):
		v, err = strconv.ParseUint(s[2:], 16, 64)
	case s[0] == '-':
		var n int64
		n, err = strconv.ParseInt(s, 0, 64)
		v = uint64(n)
	default:
		v, err = strconv.ParseUint(s, 0, 64)
	}
	if err != nil {
		return 0, fmt.Errorf("operand %q is no register, variable or number", s)
	}
	p.names[s] = p.value(v)
	return uint16(p.names[s]), nil
}
