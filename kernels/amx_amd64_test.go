//go:build !purego

package kernels

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// A tileInstruction is a line of amx_amd64.h.
type tileInstruction struct {
	text string // as an assembler reads it
	code []byte
}

// tileInstructions reads amx_amd64.h.
func tileInstructions(t *testing.T) (list []tileInstruction) {
	text, err := os.ReadFile("amx_amd64.h")
	if err != nil {
		t.Fatal(err)
	}
	data := regexp.MustCompile(`(BYTE|WORD|LONG) \$(\w+)`)
	for line := range strings.Lines(string(text)) {
		bytes, name, ok := strings.Cut(strings.TrimSpace(line), " // ")
		if !strings.HasPrefix(line, "#define") {
			continue
		}
		n := tileInstruction{text: name}
		for _, m := range data.FindAllStringSubmatch(bytes, -1) {
			v, err := strconv.ParseUint(m[2], 0, 32)
			if err != nil || !ok {
				t.Fatalf("%s: %v", line, err)
			}
			size := map[string]int{"BYTE": 1, "WORD": 2, "LONG": 4}[m[1]]
			n.code = append(n.code, binary.LittleEndian.AppendUint64(nil, v)[:size]...)
		}
		list = append(list, n)
	}
	if len(list) != 17 {
		t.Fatalf("%d instructions, want 17", len(list))
	}
	return list
}

// encodeTile encodes an instruction by the tables of Intel's manual, volume 2, AMX: VEX.128.0F38.W0
// with a prefix, an opcode, and its operands.
func encodeTile(text string) []byte {
	const none, p66, pF3, pF2 = 0, 1, 2, 3
	codes := map[string][2]byte{"ldtilecfg": {none, 0x49}, "tilerelease": {none, 0x49},
		"tilezero": {pF2, 0x49}, "tileloadd": {pF2, 0x4b}, "tilestored": {pF3, 0x4b},
		"tdpbssd": {pF2, 0x5e}, "tdpbusd": {p66, 0x5e}}
	name, operands, _ := strings.Cut(text, " ")
	var tiles []byte
	for _, m := range regexp.MustCompile(`%tmm(\d)`).FindAllStringSubmatch(operands, -1) {
		tiles = append(tiles, m[1][0]-'0')
	}
	registers := []string{"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi"}
	number := func(r string) byte { return byte(slices.Index(registers, r)) }
	memory := regexp.MustCompile(`(\d*)\(%(\w+)(?:,%(\w+),1)?\)`).FindStringSubmatch(operands)
	var vvvv byte
	var tail []byte
	switch {
	case name == "tilerelease":
		tail = []byte{0xc0}
	case name == "tilezero":
		tail = []byte{0xc0 | tiles[0]<<3}
	case memory == nil: // weights, rows, sums
		vvvv, tail = tiles[0], []byte{0xc0 | tiles[2]<<3 | tiles[1]}
	case memory[3] == "":
		tail = []byte{number(memory[2])}
	default:
		mode := byte(4) | tiles[0]<<3
		sib := number(memory[3])<<3 | number(memory[2])
		if tail = []byte{mode, sib}; memory[1] != "" {
			far, _ := strconv.Atoi(memory[1])
			tail = binary.LittleEndian.AppendUint32([]byte{mode | 0x80, sib}, uint32(far))
		}
	}
	c := codes[name]
	return append([]byte{0xc4, 0xe2, ^vvvv&15<<3&0x78 | c[0], c[1]}, tail...)
}

func TestTileInstructions(t *testing.T) {
	list := tileInstructions(t)
	for _, n := range list {
		if want := encodeTile(n.text); !slices.Equal(n.code, want) {
			t.Errorf("%s: % x, want % x", n.text, n.code, want)
		}
	}
}

// An assembler that knows tiles says the same, where there is one.
func TestTileInstructionsByAnAssembler(t *testing.T) {
	dir, list := t.TempDir(), tileInstructions(t)
	source, object := filepath.Join(dir, "tiles.s"), filepath.Join(dir, "tiles.o")
	var text strings.Builder
	var code []byte
	for _, n := range list {
		text.WriteString(n.text + "\n")
		code = append(code, n.code...)
	}
	if err := os.WriteFile(source, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("as", "--64", "-o", object, source).CombinedOutput(); err != nil {
		t.Skipf("no assembler that knows tiles: %v %s", err, out)
	}
	if out, err := exec.Command("objcopy", "-O", "binary", "-j", ".text", object,
		object+".text").CombinedOutput(); err != nil {
		t.Skipf("no objcopy: %v %s", err, out)
	}
	got, err := os.ReadFile(object + ".text")
	if err != nil || !slices.Equal(got, code) {
		t.Errorf("% x, want % x (%v)", code, got, err)
	}
}
