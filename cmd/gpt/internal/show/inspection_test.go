package show_test

// A checkpoint at a hub is inspected as the same one here is, and none of its weights come.

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/dev/cases"
	"picogpt/dev/fakehub"
	"picogpt/dev/fixture"
	"picogpt/weights/demo"
)

// report returns an inspection as JSON, or the error in place of one. Files are named without dir.
func report(t *testing.T, i *show.Inspection, err error, dir string) string {
	t.Helper()
	if err != nil {
		return "error: " + strings.ReplaceAll(err.Error(), dir+"/", "")
	}
	i.Model, i.Problem = "", strings.ReplaceAll(i.Problem, dir+"/", "")
	b, err := json.Marshal(i)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// unread changes inspections here and there so that they are equal if they differ only in what
// elements say: whether a head is the embedding once more.
func unread(here, there *show.Inspection) {
	i := slices.IndexFunc(there.Notes, func(note string) bool {
		return strings.HasPrefix(note, "lm_head.weight counts")
	})
	if i >= 0 && here != nil {
		there.Notes = slices.Delete(there.Notes, i, i+1)
		there.Parameters, there.Memory = here.Parameters, here.Memory
	}
}

// both returns the reports of a checkpoint in a folder, and of the same at a hub, whose requests
// fetched so many bytes. file is that of the weights, or "".
func both(t *testing.T, dir, file string, o checkpoint.Options) (here, there string, bytes int64) {
	t.Helper()
	c, err := checkpoint.Open(filepath.Join(dir, file), o)
	var local, remote *show.Inspection
	if err == nil {
		local, _ = show.Inspect("", c, "f32")
		c.Close()
	}
	wrong := err

	repo := &fakehub.Repo{Name: "a/b", Files: map[string][]byte{}}
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if repo.Files[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	h := fakehub.New(repo)
	defer h.Close()
	name, err := hub.ParseName("a/b")
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	if file != "" {
		files = []string{file}
	}
	far, err := hub.Look(t.Context(), name, hub.Options{Endpoint: h.URL}, files...)
	if err == nil {
		remote, _, err = show.InspectRemote(name, far, o, "f32")
		bytes = far.Fetched()
		far.Close()
	}
	if err == nil {
		unread(local, remote)
	}
	return report(t, local, wrong, dir), report(t, remote, err, "a/b"), bytes
}

func TestRemoteInspectionIsTheLocalOne(t *testing.T) {
	const testdata = "../../../../checkpoint/testdata"
	for _, where := range []string{"formats/hf", "formats/bin-bf16", "formats/bin-legacy-f16",
		"formats/bin-sharded-f16", "formats/bin-views-f16", "formats/bin-zip", "formats/nanogpt",
		"formats/nanogpt-compiled-nobias", "formats/gguf/q8_0.gguf", "formats/gguf/kquants.gguf",
		"formats/gguf/f16.gguf", "mingpt"} {
		dir, file := filepath.Join(testdata, where), ""
		if filepath.Ext(where) == ".gguf" {
			dir, file = filepath.Split(dir)
			dir = filepath.Clean(dir)
		}
		here, there, _ := both(t, dir, file, checkpoint.Options{})
		if here != there {
			t.Errorf("%s: %s\nwant %s", where, there, here)
		}
	}
}

// TestRemoteTrainings does what trainings leave behind: prefixes, dialects, heads, optimizers.
func TestRemoteTrainings(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	b, err := fixture.Unpack("../../../../checkpoint/testdata/trainings.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases []struct {
			Name, GELU string
			Heads      int
		}
	}
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	for _, x := range all.Cases {
		here, there, _ := both(t, filepath.Join(dir, x.Name), "",
			checkpoint.Options{GELU: x.GELU, Heads: x.Heads})
		if here != there {
			t.Errorf("%s: %s\nwant %s", x.Name, there, here)
		}
	}
}

// TestRemoteHostileFiles: each is refused with the words that it is refused with here.
func TestRemoteHostileFiles(t *testing.T) {
	cases.NotShort(t)
	dir := t.TempDir()
	all, err := fixture.Hostiles("../../../../checkpoint/testdata/hostile.tar.gz", dir)
	if err != nil {
		t.Fatal(err)
	}
	others := map[string]string{
		"zip-torchscript":     "a TorchScript program", // it has two such files
		"legacy-numel-lie":    `"source":"pytorch"`,    // stands before the elements
		"index-missing-shard": "the repository has no such file",
		"tf-no-data":          "file does not exist",
	}
	for _, x := range cases.Some(all, 70, 0) {
		here, there, bytes := both(t, filepath.Join(dir, x.Dir), "", checkpoint.Options{})
		want, ok := others[x.Dir]
		switch {
		case strings.HasPrefix(x.Dir, "llmc-"), x.Dir == "tf-ok", x.Dir == "tf-data-short":
			want, ok = "not read in parts", true
		case !ok:
			want = here
		}
		if there != want && !(ok && strings.Contains(there, want)) {
			t.Errorf("%s: %.300s\nwant %.300s", x.Dir, there, want)
		}
		if bytes > 1<<20 {
			t.Errorf("%s: %d bytes fetched", x.Dir, bytes)
		}
	}
}

// TestWhyAnAdapterCannotRun: numbers that float32 does not hold are a model's problem, beside what
// else there is to show.
func TestWhyAnAdapterCannotRun(t *testing.T) {
	const plain = "../../../../checkpoint/testdata/adapters/plain/"
	dir := t.TempDir()
	for _, name := range []string{"adapter_config.json", "adapter_model.safetensors"} {
		b, err := os.ReadFile(plain + name)
		if err == nil {
			b = bytes.Replace(b, []byte(`"lora_alpha": 8`), []byte(`"lora_alpha": 9e38`), 1)
			if b[0] != '{' {
				copy(b[len(b)-4:], "\xff\xff\x7f\x7f") // the largest float32
			}
			err = os.WriteFile(filepath.Join(dir, name), b, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{
		Adapters: []checkpoint.Adapter{{Path: dir}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	i, problem := show.Inspect("", c, "f32")
	const want = "what is merged is more than float32 holds"
	if problem == nil || !strings.Contains(i.Problem, want) || i.Memory.Total == 0 {
		t.Errorf("%v, problem %q, %d bytes; want %q", problem, i.Problem, i.Memory.Total, want)
	}
}
