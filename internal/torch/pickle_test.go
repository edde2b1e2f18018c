package torch

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"os"
	"os/exec"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
)

// plain turns values into Go's own, as deep as they are made here.
func plain(v any) any {
	switch v := v.(type) {
	case Tuple:
		all := []any{"tuple"}
		for _, x := range v {
			all = append(all, plain(x))
		}
		return all
	case *List:
		all := []any{"list"}
		for _, x := range v.Items {
			all = append(all, plain(x))
		}
		return all
	case *Dict:
		all := []any{"dict"}
		for _, k := range v.Keys {
			x, _ := v.Get(k)
			all = append(all, key(k), plain(x))
		}
		return all
	}
	return v
}

// key turns a key into one that prints.
func key(k any) any {
	switch k := k.(type) {
	case *Tuple:
		return "tuple"
	case *Class:
		return k.Module + "." + k.Name
	case *Object:
		return key(k.Class)
	}
	return k
}

func TestValuesOfEveryOpcode(t *testing.T) {
	big1, _ := new(big.Int).SetString("1950a86a20f9469cfc6c", 16)
	for _, c := range []struct {
		pickle string
		want   any
	}{
		{"\x80\x02N.", nil},
		{"\x80\x02\x88.", true},
		{"\x80\x02\x89.", false},
		{"\x80\x02K\xff.", int64(255)},
		{"\x80\x02M\x01\x02.", int64(0x201)},
		{"\x80\x02J\xff\xff\xff\xff.", int64(-1)},
		{"\x80\x02\x8a\x00.", int64(0)},
		{"\x80\x02\x8a\x01\xff.", int64(-1)},
		{"\x80\x02\x8a\x08\x00\x00\x00\x00\x00\x00\x00\x80.", int64(math.MinInt64)},
		{"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19.", big1},
		{"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x80.", new(big.Int).Lsh(big.NewInt(-1), 71)},
		{"\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\xff.",
			new(big.Int).Lsh(big.NewInt(-1), 64)},
		{"\x80\x02G\x3f\xf8\x00\x00\x00\x00\x00\x00.", 1.5},
		{"\x80\x02X\x02\x00\x00\x00\xc3\xa9.", "é"},
		{"\x80\x04\x8c\x01a.", "a"},
		{"\x80\x02U\x01a.", "a"},
		{"\x80\x02).", []any{"tuple"}},
		{"\x80\x02K\x01\x85.", []any{"tuple", int64(1)}},
		{"\x80\x02K\x01K\x02\x86.", []any{"tuple", int64(1), int64(2)}},
		{"\x80\x02K\x01K\x02K\x03\x87.", []any{"tuple", int64(1), int64(2), int64(3)}},
		{"\x80\x02(K\x01t.", []any{"tuple", int64(1)}},
		{"\x80\x02]K\x01a(K\x02K\x03e.", []any{"list", int64(1), int64(2), int64(3)}},
		{"\x80\x04(K\x01K\x02\x91.", []any{"list", int64(1), int64(2)}},
		{"\x80\x02}K\x01Ns(U\x01aK\x02u.", []any{"dict", int64(1), nil, "a", int64(2)}},
		{"\x80\x02K\x05q\x00h\x00\x86.", []any{"tuple", int64(5), int64(5)}},
		{"\x80\x02K\x05r\x00\x01\x00\x00j\x00\x01\x00\x00\x86.",
			[]any{"tuple", int64(5), int64(5)}},
		{"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00K\x05\x94h\x00\x86.",
			[]any{"tuple", int64(5), int64(5)}},
		{"\x80\x02ccollections\nOrderedDict\n)R}U\x09_metadataNsb.", []any{"dict"}},
		{"\x80\x04\x8c\x0bcollections\x8c\x0bOrderedDict\x93)R.", []any{"dict"}},
	} {
		v, err := Load([]byte(c.pickle), Options{})
		if got := plain(v); err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %v, %v; want %v", c.pickle, got, err, c.want)
		}
	}
}

// TestPythonsPickles: what Python itself writes. It runs where there is a Python; the table above
// is its twin.
func TestPythonsPickles(t *testing.T) {
	cases.NotShort(t)
	const program = `
import pickle, sys, collections
d = {'vocab_size': 3, 'stoi': {'a': 0, 'é': 1, '\n': 2}, 'itos': {0: 'a', 1: 'é', 2: '\n'},
     'f': 1.5, 'none': None, 'yes': True, 'big': 2**70, 'neg': -70000, 'tuple': (1, 2, 3, 4),
     'many': list(range(2500)), 'nested': [{'x': [()]}]}
o = collections.OrderedDict(a=1)
sys.stdout.buffer.write(pickle.dumps([d, o], protocol=int(sys.argv[1])))`
	for protocol := 2; protocol <= 5; protocol++ {
		b, err := exec.Command("python3", "-c", program, fmt.Sprint(protocol)).Output()
		if err != nil {
			t.Skip("no python3 here:", err)
		}
		v, err := Load(b, Options{})
		if err != nil {
			t.Errorf("protocol %d: %v", protocol, err)
			continue
		}
		d := v.(*List).Items[0].(*Dict)
		many, _ := d.Get("many")
		stoi, _ := d.Get("stoi")
		neg, _ := d.Get("neg")
		if len(many.(*List).Items) != 2500 || many.(*List).Items[2499] != int64(2499) ||
			neg != int64(-70000) ||
			!reflect.DeepEqual(plain(stoi), []any{"dict", "a", int64(0), "é", int64(1), "\n",
				int64(2)}) {
			t.Errorf("protocol %d: %v", protocol, plain(v))
		}
	}
}

// TestOthersAreRefusedByName: every opcode that is not followed.
func TestOthersAreRefusedByName(t *testing.T) {
	followed := "\x80\x95.(N\x88\x89JKM\x8aGX\x8cUBC\x96)\x85\x86\x87t]ae\x8f\x90\x91}suqr\x94hjc\x93QRb\x81\x92"
	for op := range 256 {
		if strings.IndexByte(followed, byte(op)) >= 0 {
			continue
		}
		v, err := Load([]byte{0x80, 2, 'N', byte(op), '.'}, Options{})
		if err == nil || !strings.Contains(err.Error(), "opcode ") {
			t.Errorf("opcode %#x: %v, %v", op, v, err)
		}
	}
}

// TestUnknownClassesAreInert: what a class would make is told as it is written, and a call does
// nothing.
func TestUnknownClassesAreInert(t *testing.T) {
	for pickle, want := range map[string]string{
		"cm\nMode\n":                                     "class m.Mode",
		"cm\nMode\nU\x02id\x85R":                         "m.Mode [tuple id]",
		"\x8c\x01m\x8c\x06A.Mode\x93U\x02id\x85R":        "m.A.Mode [tuple id]",
		"c__main__\nGPTConfig\n)\x81}U\x06n_headK\x04sb": "__main__.GPTConfig [tuple] state [dict n_head 4]",
		"ccollections\ndefaultdict\nN\x85RK\x01K\x02s":   "collections.defaultdict [tuple <nil>] dict [dict 1 2]",
		"c__builtin__\nset\n]K\x01a\x85R":                "__builtin__.set [tuple [list 1]]",
		"cm\nL\n)\x81K\x07a":                             "m.L [tuple] list [list 7]",
		"cm\nC\nK\x07\x85}U\x01aK\x01s\x92":              "m.C [tuple 7]",
		"\x8f(K\x01K\x02\x90":                            "[list 1 2]",
		"\x96\x01\x00\x00\x00\x00\x00\x00\x00a":          "[97]",
		"C\x02\xff\x00":                                  "[255 0]",
		"B\x01\x00\x00\x00a":                             "[97]",
		"}K\x01\x85K\x02s}cm\nC\nK\x03s\x86":             "[tuple [dict tuple 2] [dict m.C 3]]",
		"}cm\nE\nK\x01\x85RNs":                           "[dict m.E <nil>]",
	} {
		v, err := Load([]byte("\x80\x04"+pickle+"."), Options{})
		if got := shown(v); err != nil || got != want {
			t.Errorf("%q: %s, %v; want %s", pickle, got, err, want)
		}
	}
}

// shown is plain with what objects hold, as text.
func shown(v any) string {
	switch v := v.(type) {
	case *Class:
		return "class " + v.Module + "." + v.Name
	case *Object:
		s := v.Class.Module + "." + v.Class.Name + " " + fmt.Sprint(plain(v.Args))
		if v.State != nil {
			s += " state " + fmt.Sprint(plain(v.State))
		}
		if v.Dict != nil {
			s += " dict " + fmt.Sprint(plain(v.Dict))
		}
		if v.List != nil {
			s += " list " + fmt.Sprint(plain(v.List))
		}
		return s
	}
	return fmt.Sprint(plain(v))
}

func TestMalformedPickles(t *testing.T) {
	known := Options{Global: func(_, name string) any {
		if name == "f" {
			return Func(func(args Tuple) (any, error) { return int64(len(args)), nil })
		}
		return name
	}}
	for pickle, want := range map[string]string{
		"":                          "byte 0 of the pickle: the pickle ends before its STOP",
		"\x80\x02":                  "ends before its STOP",
		"\x80\x06N.":                "protocol 6, want 2 to 5",
		"\x80\x02.":                 "nothing on the stack",
		"\x80\x02NN.":               "STOP with 1 more values",
		"\x80\x02(N.":               "STOP with 0 more values",
		"\x80\x02N(\x85.":           "nothing on the stack",
		"\x80\x02Nt.":               "no mark",
		"\x80\x02N..":               "1 bytes after the end",
		"\x80\x02X\xff\xff\xff\xff": "ends before its STOP",
		"\x80\x02U\x01\xff.":        "not valid UTF-8",
		"\x80\x02NNa.":              "items for None, want a list",
		"\x80\x02]NNs.":             "keys and values for a list",
		"\x80\x02}(Nu.":             "a key without a value",
		"\x80\x02}]Ns.":             "a list as a key",
		"\x80\x02}K\x01NsK\x01Ns.":  "key 1 comes twice",
		"\x80\x02h\x00.":            "value 0 of the memo",
		"\x80\x02NQ.":               "a persistent id",
		"\x80\x02N)R.":              "a call of None",
		"\x80\x02cm\nf\nNR.":        "a call with None",
		"\x80\x02cm\ng\n)R.":        "a call of a string",
		"\x80\x02}}K\x01Nsb.":       "attribute 1 of a dict",
		"\x80\x02]}b.":              "BUILD of a list",
		"\x80\x02N}b.":              "BUILD of None",
		"\x80\x02cm\n" + strings.Repeat("x", 300) + "\n.": "a name of more than 256 bytes",
		"\x80\x04cm\nC\n)N\x92.":                          "a call with None, want a dict",
		"\x80\x04cm\nf\n)}\x92.":                          "an object of a function, want a class",
		"\x80\x04cm\nC\n}\x92.":                           "nothing on the stack",
		"\x80\x04\x91.":                                   "no mark",
		"\x80\x04NN\x93.":                                 "None as a name",
		"\x80\x02ccollections\nOrderedDict\nN\x85R.":      "OrderedDict with 1 arguments",
	} {
		_, err := Load([]byte(pickle), known)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", pickle, err, want)
		}
	}
	long := "\x80\x04X\x00\x03\x00\x00" + strings.Repeat("x", 768) + "U\x01C\x93."
	if _, err := Load([]byte(long), Options{}); err == nil {
		t.Error("a module of 768 bytes")
	}
	if v, err := Load([]byte("\x80\x02cm\nf\nK\x01K\x02\x86R."), known); v != int64(2) {
		t.Errorf("a call: %v, %v", v, err)
	}
}

// TestBombs: no pickle takes much more memory than it has bytes, nor time that grows faster.
func TestBombs(t *testing.T) {
	cases.NotShort(t)
	const size = 8 << 20
	long := string(binary.LittleEndian.AppendUint32([]byte("X"), 1<<20)) + strings.Repeat("a", 1<<20)
	for name, part := range map[string]string{
		"marks": "(", "lists": "]", "nested lists": "]a", "dicts": "}", "tuples": ")\x85",
		"memo": "q\x00", "memoize": "\x94", "recalled": "h\x00a", "strings": "U\x05hello", "ids": "K\x01",
		"floats": "G\x00\x00\x00\x00\x00\x00\x00\x00", "protocols": "\x80\x02", "long strings": long,
		"longs": "\x8a\xff" + strings.Repeat("\x01", 255), "frames": "\x95\x00\x00\x00\x00\x00\x00\x00\x00",
		"dict calls": "ccollections\nOrderedDict\n)R", "entries": "(h\x00U\x01aNNu",
	} {
		data := []byte("\x80\x02]q\x00" + strings.Repeat(part, size/len(part)) + ".")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stop := watchdog.Start(t, "%s", name)
		Load(data, Options{})
		stop()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes of memory for %d", name, n, len(data))
		}
	}
}

// TestArgumentsAreCounted: calls that share a large list cost what they look at.
func TestArgumentsAreCounted(t *testing.T) {
	const setup = "cm\nC\nq\x00]q\x01(" // a list of 4,000 lists of the same 4,000 values
	list := setup + strings.Repeat("N", 4000) + "e]q\x02(" + strings.Repeat("h\x01", 4000) + "e"
	call := "h\x00h\x02\x85R"
	for calls, want := range map[int]bool{1: true, 2: false} {
		_, err := Load([]byte("\x80\x02"+list+strings.Repeat(call, calls)+"."), Options{})
		refused := err != nil && strings.HasSuffix(err.Error(), "m.C, which may be code: refused")
		if refused == want {
			t.Errorf("%d calls: %v", calls, err)
		}
	}
}

// TestNumpysGenerators: of the module of their pickles only what makes them is data.
func TestNumpysGenerators(t *testing.T) {
	for name, want := range map[string]bool{"__generator_ctor": true, "scalar": false, "_new_x": false} {
		_, err := Load([]byte("\x80\x02cnumpy.random._pickle\n"+name+"\n)R."), Options{})
		if (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzLoad: no bytes make Load panic, and errors are one plain line.
func FuzzLoad(f *testing.F) {
	for _, s := range []string{"\x80\x02}q\x00(U\x01aK\x01]q\x01h\x01au.",
		"\x80\x02ccollections\nOrderedDict\nq\x00)Rq\x01(X\x01\x00\x00\x00aK\x01u}U\x09_metadata}sb.",
		"\x80\x04\x95\x05\x00\x00\x00\x00\x00\x00\x00\x8c\x01a\x94\x8c\x01f\x93)R.",
		"\x80\x02(U\x07storageNK\x00K\x01K\x02tQcm\nf\n\x86R.",
		"\x80\x02\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."} {
		f.Add([]byte(s))
	}
	if meta, err := os.ReadFile("../../checkpoint/testdata/formats/nanogpt/meta.pkl"); err == nil {
		f.Add(meta)
	}
	o := Options{
		Global:     func(string, string) any { return Func(orderedDict) },
		Persistent: func(id any) (any, error) { return Kind(id), nil },
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, o := range []Options{{}, o} {
			v, err := Load(b, o)
			if err == nil {
				_ = Kind(v)
			} else if bytes.ContainsAny([]byte(err.Error()), "\n\x1b") || len(err.Error()) > 500 {
				t.Errorf("not one plain line: %q", err)
			}
		}
	})
}
