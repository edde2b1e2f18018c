package checkpoint_test

// Which file of a folder Open takes.

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/weights"
)

// folderOf writes files, name and content by turns, and an empty config.json into a new folder.
func folderOf(t *testing.T, files ...string) string {
	t.Helper()
	dir := t.TempDir()
	for i, all := 0, append(files, "config.json", "{}"); i < len(all); i += 2 {
		if err := os.WriteFile(filepath.Join(dir, all[i]), []byte(all[i+1]), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// tiny returns a safetensors file with one tensor.
func tiny(t *testing.T, name string) string {
	t.Helper()
	var b bytes.Buffer
	err := weights.Write(&b, nil, []weights.Tensor{{Name: name, DType: weights.F32, Shape: []int{2},
		Data: make([]byte, 8)}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestADirectoryHoldsOneCheckpoint(t *testing.T) {
	index := `{"metadata":{"total_size":8},"weight_map":{"i":"s1.safetensors"}}`
	for _, c := range []struct {
		name  string
		files []string
		want  string
	}{
		{"model.safetensors wins", []string{"model.safetensors", tiny(t, "m"), "other.safetensors",
			tiny(t, "o"), "model.safetensors.index.json", index}, "m"},
		{"then the index", []string{"a.safetensors", tiny(t, "a"), "s1.safetensors", tiny(t, "i"),
			"model.safetensors.index.json", index}, "i"},
		{"then the only one", []string{"any.safetensors", tiny(t, "a"), "a.gguf", "x"}, "a"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := checkpoint.Open(folderOf(t, c.files...), checkpoint.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if all := f.Tensors.All(); len(all) != 1 || all[0].Name != c.want {
				t.Errorf("opened %v, want %s", all, c.want)
			}
		})
	}
}

// TestArraysHideNoCheckpoint: a safetensors file beside pytorch_model.bin or ckpt.pt may hold anything,
// as what gpt trace and gpt logits write. Only the names that Hugging Face's library writes outrank
// them, and ckpt.pt only if there is a config.json.
func TestArraysHideNoCheckpoint(t *testing.T) {
	for _, c := range []struct{ files, want string }{
		{"ckpt.pt t.safetensors", "ckpt.pt"},
		{"ckpt.pt t.safetensors u.safetensors", "ckpt.pt"},
		{"ckpt.pt model.safetensors", "ckpt.pt"},
		{"ckpt.pt model.safetensors.index.json model-00001-of-00002.safetensors", "ckpt.pt"},
		{"ckpt.pt t.safetensors config.json", "ckpt.pt"},
		{"ckpt.pt model.safetensors config.json", "model.safetensors"},
		{"pytorch_model.bin t.safetensors config.json", "pytorch_model.bin"},
		{"pytorch_model.bin ckpt.pt config.json", "pytorch_model.bin"},
		{"pytorch_model.bin.index.json t.safetensors", "pytorch_model.bin.index.json"},
		{"t.safetensors config.json", "t.safetensors"},
		{"t.safetensors m.gguf", "t.safetensors"},

		{"model.fp16.safetensors config.json", "model.fp16.safetensors"},
		{"model.safetensors.index.fp16.json model.fp16-00001-of-00001.safetensors config.json",
			"model.safetensors.index.fp16.json"},
		{"pytorch_model.bin.index.fp16.json pytorch_model.fp16-00001-of-00001.bin config.json",
			"pytorch_model.bin.index.fp16.json"},
		{"model.safetensors.index.fp16.json t.safetensors config.json",
			"model.safetensors.index.fp16.json"},
		{"model.safetensors.index.fp16.json ckpt.pt", "ckpt.pt"},
		{"model.fp16.safetensors pytorch_model.fp16.bin config.json", "model.fp16.safetensors"},
		{"pytorch_model.fp16.bin m.gguf config.json", "pytorch_model.fp16.bin"},
		{"model.safetensors.index.fp16.json model.safetensors.index.json config.json",
			"model.safetensors.index.json"},
		{"model.fp16.safetensors pytorch_model.bin config.json", "pytorch_model.bin"},
	} {
		if got := checkpoint.Candidates(strings.Fields(c.files)); !slices.Equal(got, []string{c.want}) {
			t.Errorf("of %s: %q, want %s", c.files, got, c.want)
		}
	}
}

// TestAFolderOfATrainer: it has only the folders of its steps, of which the newest is named.
func TestAFolderOfATrainer(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"checkpoint-500", "checkpoint-1000", "checkpoint-1500", "runs"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	want := dir + ": no checkpoint in this directory: want model.safetensors, "
	for _, x := range []struct{ file, want string }{
		{"checkpoint-500/model.safetensors", dir + ": no checkpoint in this directory, but in " +
			"checkpoint-500, as a Trainer saves them: name " + filepath.Join(dir, "checkpoint-500")},
		{"checkpoint-1000/pytorch_model.bin", dir + ": no checkpoint in this directory, but in " +
			"checkpoint-1000, the newest of 2, as a Trainer saves them: name " +
			filepath.Join(dir, "checkpoint-1000")},
	} {
		if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
		if err := os.WriteFile(filepath.Join(dir, x.file), nil, 0o666); err != nil {
			t.Fatal(err)
		}
		want = x.want
	}
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || err.Error() != want ||
		!errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestADistributedCheckpointBelow: accelerate puts it into a folder of its own.
func TestADistributedCheckpointBelow(t *testing.T) {
	dir := folderOf(t, "config.json", "{}")
	below := filepath.Join(dir, "pytorch_model_fsdp_0")
	if err := os.Mkdir(below, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(below, ".metadata"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want := "pytorch_model_fsdp_0 is a checkpoint of torch.distributed.checkpoint, which is not read: " +
		"python -m torch.distributed.checkpoint.format_utils dcp_to_torch " + below + " "
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestFilesOfOtherPrograms: named by themselves.
func TestFilesOfOtherPrograms(t *testing.T) {
	var arrays bytes.Buffer
	w := zip.NewWriter(&arrays)
	if _, err := w.Create("wte.npy"); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, want string }{
		"model.pt":     {arrays.String(), "a zip of NumPy's arrays"},
		"model.npz":    {"PK\x03\x04", "arrays of NumPy, which are not read"},
		"w.npy":        {"\x93NUMPY\x01\x00", "arrays of NumPy, which are not read"},
		"__0_0.distcp": {"PK\x03\x04", "a part of a checkpoint of torch.distributed.checkpoint"},
		".metadata":    {"\x80\x02N.", "the index of a checkpoint of torch.distributed.checkpoint"},
	} {
		dir := folderOf(t, name, c.text)
		_, err := checkpoint.Open(filepath.Join(dir, name), checkpoint.Options{})
		if err == nil || !strings.Contains(err.Error(), ": "+c.want) {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

func TestADirectoryWithoutOneSaysWhatItHas(t *testing.T) {
	for _, c := range []struct {
		name     string
		files    []string
		notExist bool
		want     []string
	}{
		{"nothing", nil, true, []string{"no checkpoint in this directory"}},
		{"only another program's", []string{"tf_model.h5", "\x89HDF\r\n\x1a\n"}, true,
			[]string{"tf_model.h5", "HDF5"}},
		{"NumPy's arrays", []string{"model.npz", "PK\x03\x04", "config.json", "{}"}, true,
			[]string{"model.npz is arrays of NumPy", "safetensors.numpy.save_file"}},
		{"one of NumPy's arrays", []string{"wte.npy", "\x93NUMPY\x01\x00"}, true,
			[]string{"wte.npy is arrays of NumPy"}},
		{"a distributed checkpoint", []string{".metadata", "\x80\x02N.", "__0_0.distcp", "PK\x03\x04",
			"config.json", "{}"}, true, []string{"a checkpoint of torch.distributed.checkpoint",
			"format_utils dcp_to_torch /", "pytorch_model.bin makes a file of it"}},
		{"a distributed checkpoint's part", []string{"__0_0.distcp", "PK\x03\x04"}, true,
			[]string{"__0_0.distcp is a part of a checkpoint of torch.distributed.checkpoint"}},
		{"only shards", []string{"model-00001-of-00002.safetensors", "x"}, true,
			[]string{"no index of the shards", "model-00001-of-00002.safetensors"}},
		{"llm.c's starter pack, less the weights", []string{"gpt2_tokenizer.bin", "x",
			"gpt2_124M_debug_state.bin", "y"}, true, []string{"no checkpoint"}},
		{"only shards of a variant", []string{"pytorch_model.fp16-00001-of-00002.bin", "x"}, true,
			[]string{"no index of the shards", "pytorch_model.fp16-00001-of-00002.bin"}},
		{"two variants", []string{"model.fp16.safetensors", "x", "model.safetensors.index.ema.json", "x"},
			false, []string{"model.fp16.safetensors and model.safetensors.index.ema.json", "which of them"}},
		{"two", []string{"a.safetensors", tiny(t, "a"), "b.safetensors", tiny(t, "b")}, false,
			[]string{"a.safetensors and b.safetensors", "which of them"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := folderOf(t, c.files...)
			_, err := checkpoint.Open(dir, checkpoint.Options{})
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(c.want, dir+": ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not have %q", err, want)
				}
			}
			if errors.Is(err, fs.ErrNotExist) != c.notExist {
				t.Errorf("errors.Is(%v, ErrNotExist) is %v", err, !c.notExist)
			}
		})
	}
}

// TestTheTreeOfNanoGPT: the folder in which a training has left its checkpoint is named.
func TestTheTreeOfNanoGPT(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"data", "output", "out-shakespeare-char"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "out-shakespeare-char")
	if err := os.WriteFile(filepath.Join(out, "ckpt.pt"), nil, 0o666); err != nil {
		t.Fatal(err)
	}
	want := dir + ": no checkpoint in this directory, but in out-shakespeare-char, as nanoGPT saves it: " +
		"name " + out
	if _, err := checkpoint.Open(dir, checkpoint.Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
