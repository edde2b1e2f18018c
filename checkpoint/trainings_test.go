package checkpoint_test

// What trainings leave behind: one model in the files of many programs, against float64.
// testdata/make_trainings.py says what each file is.

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
	"picogpt/internal/folder"

	"picogpt/model"
)

// A training is one folder of trainings.tar.gz.
type training struct {
	Name   string
	Logits string // the name of those in the manifest; "" if the file is refused
	Heads  int    // Options.Heads
	GELU   string // Options.GELU
	Error  string // a part of it
	Unused []string
	Notes  int
}

func TestTrainings(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	b, err := fixture.Unpack("testdata/trainings.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		IDs    []int
		Logits map[string][][]float64
		Cases  []training
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Cases) < 70 {
		t.Errorf("%d files", len(all.Cases))
	}
	for _, x := range all.Cases {
		c, err := checkpoint.Open(filepath.Join(dir, x.Name), checkpoint.Options{GELU: x.GELU, Heads: x.Heads})
		var m *model.Model
		if err == nil {
			defer c.Close()
			if m, err = model.New(t.Context(), c.Config, c.Tensors, model.Options{Threads: 1}); err == nil {
				defer m.Close()
			}
		}
		switch {
		case x.Error != "":
			if err == nil || strings.Contains(err.Error(), "\n") ||
				!strings.Contains(strings.ReplaceAll(err.Error(), dir+"/"+x.Name+"/", ""), x.Error) {
				t.Errorf("%s: %v, want %s", x.Name, err, x.Error)
			}
			continue
		case err != nil:
			t.Errorf("%s: %v", x.Name, err)
			continue
		}
		if len(c.Notes) != x.Notes || !slices.Equal(c.Unused(), x.Unused) && len(x.Unused) > 0 {
			t.Errorf("%s: notes %q, unused %q; want %d, %q", x.Name, c.Notes, c.Unused(), x.Notes,
				x.Unused)
		}
		if off := farthest(logits(t, m, all.IDs), all.Logits[x.Logits]); !(off <= 1e-5) {
			t.Errorf("%s: %.2g of the largest logit off", x.Name, off)
		}
	}
}

// farthest returns the largest difference of two tables of logits over the largest logit.
func farthest(got [][]float32, want [][]float64) float64 {
	off, largest := 0.0, 0.0
	for i, row := range want {
		for j, x := range row {
			off = max(off, math.Abs(float64(got[i][j])-x))
			largest = max(largest, math.Abs(x))
		}
	}
	return off / largest
}

// TestBombsAroundTheStateDict: dicts that hold each other many times over, or that are very many,
// take little time and memory, and what looks for the state dict among them ends.
func TestBombsAroundTheStateDict(t *testing.T) {
	cases.NotShort(t)
	repeat := strings.Repeat
	text := func(s string) string { return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s }
	// each dict holds the one before it twice: 2^100 leaves
	laughs := "}(" + text("0") + "}q\x00" + text("x") + "K\x01s"
	for i := range 100 {
		laughs += text(fmt.Sprint("k", i)) + "}(" + text("a") + "h\x00" + text("b") + "h\x00uq\x00"
	}
	laughs += "u"
	shared := "}q\x00(" // one dict of 5,000 entries under 5,000 keys
	for i := range 5000 {
		shared += text(fmt.Sprint(i)) + "N"
	}
	shared += "u"
	many := "}("
	for i := range 5000 {
		many += text(fmt.Sprint("k", i)) + "h\x00"
	}
	object := "cm\nC\n)\x81}(" + text("_parameters") + "}" + text("_buffers") + "}" +
		text("_modules") + "}q\x01" + text("self")
	for name, pickle := range map[string]string{
		"laughs":      laughs,
		"shared":      "}" + text("first") + shared + "s",
		"many":        "](" + shared + many + "ue",
		"under many":  many[:2] + text("first") + shared + many[2:] + "u",
		"deep":        repeat("}"+text("a"), 20000) + "N" + repeat("s", 20000),
		"itself":      "}q\x00" + text("a") + "h\x00s",
		"module":      object + "h\x01ub",
		"long names":  "}" + text(repeat("x", 1<<20)) + "}" + text(repeat("y", 1<<20)) + "Nss",
		"many calls":  "](" + repeat("cos\nsystem\n"+text("id")+"\x85R", 10000) + "e",
		"called":      "cos\nsystem\n" + text("id") + "\x85R",
		"called keys": "}(" + repeat("cos\nsystem\n"+text("id")+"\x85RN", 10000) + "u",
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		stop := watchdog.Start(t, "%s", name)
		_, err := checkpoint.OpenFS(folder.Memory{"ckpt.pt": zipOf(t, "\x80\x02"+pickle+".")}, "", checkpoint.Options{})
		stop()
		runtime.ReadMemStats(&after)
		if err == nil || strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 500 {
			t.Errorf("%s: %v, want one plain line", name, err)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%s: %d bytes of memory", name, n)
		}
	}
}

// zipOf returns a file of torch.save with that pickle and no storages.
func zipOf(t *testing.T, pickle string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "archive/data.pkl", Method: zip.Store})
	if err == nil {
		_, err = f.Write([]byte(pickle))
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
