package ptx

// What a machine reports, by kernels of a few lines.

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"
)

// module returns a program with one kernel k(u64 p), of some lines. %rd1 is p, %r1 the item, %r2
// the group; %rd3 and %rd5 are the item's number in p and in the shared memory s.
func module(t *testing.T, body string) *Program {
	t.Helper()
	p, err := Parse(text(body))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func text(body string) string {
	return `
.version 6.0
.target sm_70
.address_size 64

.visible .entry k(
	.param .u64 k_param_0
)
{
	.reg .pred 	%p<9>;
	.reg .b16 	%rs<9>;
	.reg .f32 	%f<9>;
	.reg .b32 	%r<9>;
	.reg .b64 	%rd<9>;
	.shared .align 4 .b8 s[256];

	ld.param.u64 	%rd1, [k_param_0];
	mov.u32 	%r1, %tid.x;
	mov.u32 	%r2, %ctaid.x;
	mul.wide.s32 	%rd2, %r1, 4;
	add.s64 	%rd3, %rd1, %rd2;
	mov.u64 	%rd4, s;
	add.s64 	%rd5, %rd4, %rd2;
	setp.eq.s32 	%p1, %r1, 0;
` + body + `
	ret;

}
`
}

// launch runs k on a buffer of 256 bytes, groups of 64 items.
func launch(t *testing.T, groups int, body string) ([]byte, error) {
	t.Helper()
	m := NewMachine(module(t, body), 1)
	at := m.Alloc(256)
	err := m.Launch("k", [3]int{groups, 1, 1}, 64, []uint64{at})
	data, e := m.Bytes(at, 256)
	if e != nil {
		t.Fatal(e)
	}
	return data, err
}

// reversed is what items do that need a barrier: each reads what another wrote.
const reversed = `
	st.shared.u32 	[%rd5], %r1;
	bar.sync 	0;
	sub.s32 	%r3, 63, %r1;
	mul.wide.s32 	%rd6, %r3, 4;
	add.s64 	%rd6, %rd4, %rd6;
	ld.shared.u32 	%r4, [%rd6];
	st.global.u32 	[%rd3], %r4;`

func TestItemsMeetAtBarriers(t *testing.T) {
	got, err := launch(t, 1, reversed)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 64 {
		if v := binary.LittleEndian.Uint32(got[4*i:]); v != uint32(63-i) {
			t.Fatalf("cell %d: %d, want %d", i, v, 63-i)
		}
	}
}

func TestFaultsAreReported(t *testing.T) {
	for _, c := range []struct {
		name   string
		groups int
		body   string
		want   string
	}{
		{"a removed barrier", 1, strings.Replace(reversed, "bar.sync 	0;", "", 1),
			"that nothing wrote"},
		{"two barriers for three", 1, `
	st.shared.u32 	[%rd5], %r1;
	bar.sync 	0;
	ld.shared.u32 	%r4, [s];
	@%p1 st.shared.u32 	[s], %r4;`, "with no barrier between"},
		{"two items write one shared cell", 1, `st.shared.u32 	[s], %r1;`, "writes what item"},
		{"poison", 1, `ld.shared.u32 	%r3, [%rd5];`, "that nothing wrote"},
		{"poison of the group before", 2, `
	setp.eq.s32 	%p2, %r2, 0;
	@%p2 st.shared.u32 	[%rd5], %r1;
	ld.shared.u32 	%r3, [%rd5];`, "that nothing wrote"},
		{"outside of shared memory", 1, `st.shared.u32 	[%rd5+4], %r1;`,
			"outside of the 256 bytes"},
		{"half a number of shared memory", 1, `st.shared.u32 	[%rd5+2], %r1;`, "no multiple"},
		{"outside of a buffer", 1, `st.global.u32 	[%rd3+4], %r1;`,
			"outside of the buffer's 256 bytes"},
		{"before a buffer", 1, `ld.global.u32 	%r3, [%rd3+-4];`, "in no buffer"},
		{"a null pointer", 1, `
	mov.u64 	%rd6, 0;
	ld.global.u32 	%r3, [%rd6];`, "in no buffer"},
		{"half a number", 1, `ld.global.u32 	%r3, [%rd3+2];`, "no multiple"},
		{"half a vector", 1, `ld.global.v2.u32 	{%r3, %r4}, [%rd1+4];`, "no multiple"},
		{"shared memory as global", 1, `st.global.u32 	[%rd5], %r1;`, "in no buffer"},
		{"two groups write one cell", 2, `st.global.u32 	[%rd3], %r1;`,
			"another group of this launch wrote"},
		{"a group reads what another writes", 2, `
	setp.eq.s32 	%p2, %r2, 0;
	@%p2 st.global.u32 	[%rd3], %r1;
	@!%p2 ld.global.u32 	%r3, [%rd3];`, "another group of this launch"},
		{"an item writes what another reads", 1, `
	ld.global.u32 	%r3, [%rd1];
	@%p1 st.global.u32 	[%rd1], %r3;
	ld.global.u32 	%r3, [%rd1];`, "with no barrier between"},
		{"a barrier that one misses", 1, `
	@%p1 ret;
	bar.sync 	0;`, "a barrier that not all reach"},
		{"two barriers at a time", 1, `
	@%p1 bra 	$other;
	bar.sync 	0;
	ret;
$other:
	bar.sync 	0;`, "a barrier that not all reach"},
		{"division by zero", 1, `div.s32 	%r3, %r1, 0;`, "divides by zero"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := launch(t, c.groups, c.body)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

func TestLaunchesAreOrdered(t *testing.T) {
	m := NewMachine(module(t, `
	ld.global.u32 	%r3, [%rd3];
	add.s32 	%r3, %r3, 1;
	st.global.u32 	[%rd3], %r3;`), 1)
	at := m.Adopt(make([]byte, 256))
	for range 3 {
		if err := m.Launch("k", [3]int{1, 1, 1}, 64, []uint64{at}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := m.Bytes(at, 4); got[0] != 3 {
		t.Errorf("after three launches that add 1: %d", got[0])
	}
}

func TestNewMemoryIsPoison(t *testing.T) {
	m := NewMachine(module(t, ""), 1)
	got, err := m.Bytes(m.Alloc(8), 8)
	if err != nil || !bytes.Equal(got, bytes.Repeat([]byte{255}, 8)) {
		t.Errorf("%x, error %v", got, err)
	}
}

// The last item to run wins: over many launches it is not always the same.
func TestTheOrderIsRandom(t *testing.T) {
	m := NewMachine(module(t, `
	ld.global.u32 	%r3, [%rd1];
	setp.eq.s32 	%p2, %r3, -1;
	@%p2 st.global.u32 	[%rd1], %r1;`), 1)
	first := map[byte]bool{}
	for range 20 {
		at := m.Alloc(4)
		err := m.Launch("k", [3]int{1, 1, 1}, 64, []uint64{at})
		if err == nil {
			t.Fatal("no conflict is reported")
		}
		got, _ := m.Bytes(at, 4)
		first[got[0]] = true
	}
	if len(first) < 5 {
		t.Errorf("%d items were first in 20 launches", len(first))
	}
}

func TestBuffersAreFreedOnce(t *testing.T) {
	m := NewMachine(module(t, `st.global.u32 	[%rd3], %r1;`), 1)
	at := m.Alloc(256)
	if err := m.Free(at + 4); err == nil {
		t.Error("the middle of a buffer is freed")
	}
	if err := m.Free(at); err != nil || m.Live() != 0 {
		t.Errorf("error %v, %d buffers left", err, m.Live())
	}
	if err := m.Free(at); err == nil {
		t.Error("a buffer is freed twice")
	}
	if err := m.Launch("k", [3]int{1, 1, 1}, 64, []uint64{at}); err == nil ||
		!strings.Contains(err.Error(), "in no buffer") {
		t.Errorf("a store to freed memory: error %v", err)
	}
}

func TestLaunchesThatNoDeviceTakes(t *testing.T) {
	m := NewMachine(module(t, ""), 1)
	at := []uint64{m.Alloc(256)}
	for _, c := range []struct {
		kernel string
		groups [3]int
		items  int
		params []uint64
	}{
		{"none", [3]int{1, 1, 1}, 64, at},
		{"k", [3]int{0, 1, 1}, 64, at},
		{"k", [3]int{1, 70000, 1}, 64, at},
		{"k", [3]int{1, 1, 1}, 2048, at},
		{"k", [3]int{1, 1, 1}, 64, nil},
	} {
		if err := m.Launch(c.kernel, c.groups, c.items, c.params); err == nil {
			t.Errorf("%+v: no error", c)
		}
	}
}

// bounded is a module whose kernel has a directive between its parameters and its body.
func bounded(directive string) (*Program, error) {
	return Parse(strings.Replace(text(""), "\n)\n{", "\n)\n"+directive+"\n{", 1))
}

func TestAGroupHasAtMostTheItemsThatItsKernelAllows(t *testing.T) {
	p, err := bounded(".maxntid 64, 1, 1\n.minnctapersm 2")
	if err != nil {
		t.Fatal(err)
	}
	m := NewMachine(p, 1)
	at := []uint64{m.Alloc(4 * 65)}
	if err := m.Launch("k", [3]int{1, 1, 1}, 64, at); err != nil {
		t.Error(err)
	}
	if err := m.Launch("k", [3]int{1, 1, 1}, 65, at); err == nil {
		t.Error("65 items: no error")
	}
	for _, d := range []string{".maxntid 64", ".maxntid 8, 8, 1", ".maxntid 2048, 1, 1",
		".maxntid 0, 1, 1", ".reqntid 64, 1, 1", "64, 1, 1"} {
		if _, err := bounded(d); err == nil || !strings.Contains(err.Error(), "kernel k") {
			t.Errorf("%s: error %v", d, err)
		}
	}
}
