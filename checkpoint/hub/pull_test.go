package hub_test

// What a pull leaves in the cache, file by file, and what it asks for.

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/checkpoint/hub"
	"picogpt/dev/fakehub"
)

// gpt2 is a repository as OpenAI's is, with weights that are not those of a model.
func gpt2(name string) *fakehub.Repo {
	return &fakehub.Repo{Name: name, Files: map[string][]byte{
		"config.json":            []byte(`{"model_type": "gpt2"}`),
		"generation_config.json": []byte(`{}`),
		"model.safetensors":      pattern(300_000),
		"merges.txt":             []byte("#version: 0.2\n"),
		"vocab.json":             []byte(`{"a": 0}`),
		"tf_model.h5":            pattern(1000),
	}}
}

// pattern is n bytes that differ from place to place.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*i>>8 ^ i)
	}
	return b
}

// start starts a hub and returns the options to reach it, with a new cache and little patience.
func start(t *testing.T, repos ...*fakehub.Repo) (*fakehub.Hub, hub.Options) {
	t.Helper()
	h := fakehub.New(repos...)
	t.Cleanup(h.Close)
	return h, hub.Options{Cache: filepath.Join(t.TempDir(), "hub"), Endpoint: h.URL,
		RetryWait: time.Millisecond, HeadTimeout: 5 * time.Second, ReadTimeout: 5 * time.Second}
}

// tree lists a folder: a line for each file, with what a link leads to, or the file's size.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		info, err := e.Info()
		if err != nil {
			return err
		}
		if e.Type()&fs.ModeSymlink != 0 {
			to, err := os.Readlink(path)
			fmt.Fprintf(&b, "%s -> %s\n", filepath.ToSlash(name), to)
			return err
		}
		fmt.Fprintf(&b, "%s %d\n", filepath.ToSlash(name), info.Size())
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return b.String()
}

func name(s string) hub.Name {
	n, err := hub.ParseName(s)
	if err != nil {
		panic(err)
	}
	return n
}

// wantTree compares what lies in the cache, CACHEDIR.TAG's size aside.
func wantTree(t *testing.T, o hub.Options, want string) {
	t.Helper()
	got := strings.Split(strings.TrimSpace(tree(t, o.Cache)), "\n")
	got = slices.DeleteFunc(got, func(line string) bool {
		return strings.HasPrefix(line, "CACHEDIR.TAG ")
	})
	slices.Sort(got)
	lines := strings.Split(strings.TrimSpace(want), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	slices.Sort(lines)
	if !slices.Equal(got, lines) {
		t.Errorf("the cache holds\n%s\nwant\n%s", strings.Join(got, "\n"),
			strings.Join(lines, "\n"))
	}
}

// absentOf lists the marks of files that a repository as gpt2 makes does not have.
func absentOf(folder, commit string, names ...string) (lines string) {
	for _, name := range names {
		lines += fmt.Sprintf("%s/.no_exist/%s/%s 0\n", folder, commit, name)
	}
	return lines
}

// TestAPullBringsAllChatTemplates: also those of the folder, where chat_template.jinja is.
func TestAPullBringsAllChatTemplates(t *testing.T) {
	repo := gpt2("me/chat")
	for _, file := range []string{"chat_template.jinja", "chat_template.json",
		"additional_chat_templates/rag.jinja"} {
		repo.Files[file] = []byte("{{ messages }}")
	}
	repo.Files["additional_chat_templates/notes.txt"] = []byte("no template")
	_, o := start(t, repo)
	s, err := hub.Pull(t.Context(), name("me/chat"), o)
	if err != nil {
		t.Fatal(err)
	}
	for file := range repo.Files {
		_, err := os.Stat(filepath.Join(s.Dir, file))
		if has := err == nil; has != (path.Base(file) != "notes.txt" && file != "tf_model.h5") {
			t.Errorf("%s: %v", file, err)
		}
	}
}

func TestAPullLeavesWhatPythonWould(t *testing.T) {
	repo := gpt2("openai-community/gpt2")
	h, o := start(t, repo)
	s, err := hub.Pull(t.Context(), name("openai-community/gpt2"), o)
	if err != nil {
		t.Fatal(err)
	}
	const folder = "models--openai-community--gpt2"
	commit := repo.Commit()
	want := fmt.Sprintf("%s/refs/main 40\n", folder)
	for _, file := range []string{"config.json", "generation_config.json", "model.safetensors",
		"merges.txt", "vocab.json"} {
		b := repo.Files[file]
		etag := fakehub.Etag(b, file == "model.safetensors")
		want += fmt.Sprintf("%s/blobs/%s %d\n", folder, etag, len(b)) +
			fmt.Sprintf("%s/snapshots/%s/%s -> ../../blobs/%s\n", folder, commit, file, etag) +
			fmt.Sprintf(".locks/%s/%s.lock 0\n", folder, etag)
	}
	wantTree(t, o, want+absentOf(folder, commit, "tokenizer.json", "added_tokens.json",
		"special_tokens_map.json", "tokenizer_config.json", "vocab.txt", "spiece.model",
		"tokenizer.model",
		"chat_template.jinja", "chat_template.json", "meta.pkl"))
	ref, err := os.ReadFile(filepath.Join(o.Cache, folder, "refs", "main"))
	if err != nil || string(ref) != commit {
		t.Errorf("refs/main %q, %v, want the commit and no newline", ref, err)
	}
	if b, err := os.ReadFile(filepath.Join(s.Dir, "model.safetensors")); err != nil ||
		string(b) != string(repo.Files["model.safetensors"]) {
		t.Errorf("%d bytes of weights, %v", len(b), err)
	}
	tag, err := os.ReadFile(filepath.Join(o.Cache, "CACHEDIR.TAG"))
	if !strings.HasPrefix(string(tag), "Signature: 8a477f597d28d172789f06886806bc55\n") {
		t.Errorf("CACHEDIR.TAG %q, %v", tag, err)
	}
	found, err := hub.Find(name("openai-community/gpt2"), o)
	if err != nil || found.Dir != s.Dir {
		t.Errorf("found %v, %v, want %s", found, err, s.Dir)
	}

	// Once more: one request, which finds that nothing is new; none for the commit.
	h.Requests()
	if _, err := hub.Pull(t.Context(), name("openai-community/gpt2"), o); err != nil {
		t.Fatal(err)
	}
	if got := h.Requests(); len(got) != 1 || got[0].Method != "HEAD" {
		t.Errorf("a second pull asks %v, want one HEAD", got)
	}
	if _, err := hub.Pull(t.Context(), name("openai-community/gpt2@"+commit), o); err != nil {
		t.Fatal(err)
	}
	if got := h.Requests(); len(got) != 0 {
		t.Errorf("a pull of the commit asks %v, want nothing", got)
	}
}

func TestAFileInAFolderHasALinkOfItsOwnDepth(t *testing.T) {
	repo := gpt2("a/b")
	repo.Files["sub/deep/model.gguf"] = pattern(1000)
	_, o := start(t, repo)
	s, err := hub.Pull(t.Context(), name("a/b"), o, "sub/deep/model.gguf")
	if err != nil {
		t.Fatal(err)
	}
	etag := fakehub.Etag(pattern(1000), true)
	wantTree(t, o, fmt.Sprintf(`
		.locks/models--a--b/%[1]s.lock 0
		models--a--b/blobs/%[1]s 1000
		models--a--b/refs/main 40
		models--a--b/snapshots/%[2]s/sub/deep/model.gguf -> ../../../../blobs/%[1]s
	`, etag, s.Commit))
	if !s.Has("sub/deep/model.gguf") {
		t.Error("the link leads to nothing")
	}
}

func TestARenamedRepositoryKeepsTheNameAskedFor(t *testing.T) {
	repo := gpt2("openai-community/gpt2")
	_, o := start(t, repo, &fakehub.Repo{Name: "gpt2", MovedTo: repo.Name})
	s, err := hub.Pull(t.Context(), name("gpt2"), o)
	if err != nil {
		t.Fatal(err)
	}
	if want := filepath.Join(o.Cache, "models--gpt2", "snapshots", repo.Commit()); s.Dir != want {
		t.Errorf("pulled into %s, want %s", s.Dir, want)
	}
	for _, n := range []string{"gpt2", "openai-community/gpt2", "gpt2@" + repo.Commit()} {
		if found, err := hub.Find(name(n), o); err != nil || found.Dir != s.Dir {
			t.Errorf("%s: found %v, %v, want %s", n, found, err, s.Dir)
		}
	}
	if found, err := hub.Find(name("distilgpt2"), o); !errors.Is(err, hub.ErrAbsent) {
		t.Errorf("found %v, %v, want ErrAbsent", found, err)
	}
}

func TestRevisions(t *testing.T) {
	repo := gpt2("a/b")
	repo.Refs, repo.OnlyRef = []string{"refs/pr/22", "v1.0"}, true
	h, o := start(t, repo)
	for _, n := range []string{"a/b@refs/pr/22", "a/b@v1.0", "a/b@" + repo.Commit()} {
		if s, err := hub.Pull(t.Context(), name(n), o); err != nil || s.Commit != repo.Commit() {
			t.Errorf("%s: %v, %v", n, s, err)
		}
		if s, err := hub.Find(name(n), o); err != nil || s.Commit != repo.Commit() {
			t.Errorf("%s: found %v, %v", n, s, err)
		}
	}
	for _, r := range h.Requests() {
		if strings.Contains(r.Path, "refs/pr") {
			t.Errorf("%s: want the revision as one part of the path", r.Path)
		}
	}
	_, err := hub.Pull(t.Context(), name("a/b"), o)
	if !errors.Is(err, hub.ErrNoRevision) {
		t.Errorf("main: %v, want ErrNoRevision", err)
	}
	for path, want := range map[string]string{"refs/refs/pr/22": repo.Commit(),
		"refs/v1.0": repo.Commit(), "refs/main": ""} {
		b, _ := os.ReadFile(filepath.Join(o.Cache, "models--a--b", filepath.FromSlash(path)))
		if string(b) != want {
			t.Errorf("%s: %q, want %q", path, b, want)
		}
	}
	all, err := hub.List(o)
	if err != nil || len(all) != 1 || !slices.Equal(all[0].Refs, []string{"refs/pr/22", "v1.0"}) {
		t.Errorf("listed %v, %v", all, err)
	}
}

// TestWeightsByPreference pulls each kind of weights, where there is no better one.
func TestWeightsByPreference(t *testing.T) {
	index := func(names ...string) []byte {
		var pairs []string
		for i, name := range names {
			pairs = append(pairs, fmt.Sprintf(`"t%d": %q`, i, name))
		}
		return []byte(`{"metadata": {}, "weight_map": {` + strings.Join(pairs, ",") + `}}`)
	}
	shards := func(stem, ext string) []string {
		return []string{stem + "-00001-of-00002" + ext, stem + "-00002-of-00002" + ext}
	}
	st, pt := shards("model", ".safetensors"), shards("pytorch_model", ".bin")
	half, old := shards("model.fp16", ".safetensors"), shards("pytorch_model.fp16", ".bin")
	repo := &fakehub.Repo{Name: "a/b", Files: map[string][]byte{
		"config.json":                  []byte(`{}`),
		"model.safetensors":            pattern(10),
		"model.safetensors.index.json": index(st...),
		st[0]:                          pattern(11),
		st[1]:                          pattern(12),
		"pytorch_model.bin":            pattern(13),
		"pytorch_model.bin.index.json": index(pt...),
		pt[0]:                          pattern(14),
		pt[1]:                          pattern(15),
		"gpt.gguf":                     pattern(16),

		"model.safetensors.index.fp16.json": index(half...),
		half[0]:                             pattern(21),
		half[1]:                             pattern(22),
		"pytorch_model.bin.index.fp16.json": index(old...),
		old[0]:                              pattern(23),
		old[1]:                              pattern(24),

		"training_args.bin": pattern(17),
		"optimizer.pt":      pattern(18),
		"model.onnx":        pattern(19),
	}}
	_, o := start(t)
	for _, want := range [][]string{
		{"model.safetensors"},
		append(slices.Clone(st), "model.safetensors.index.json"),
		{"pytorch_model.bin"},
		append(slices.Clone(pt), "pytorch_model.bin.index.json"),
		append(slices.Clone(half), "model.safetensors.index.fp16.json"),
		append(slices.Clone(old), "pytorch_model.bin.index.fp16.json"),
		{"gpt.gguf"},
	} {
		h := fakehub.New(repo)
		o.Endpoint, o.Cache = h.URL, filepath.Join(t.TempDir(), "hub")
		s, err := hub.Pull(t.Context(), name("a/b"), o)
		h.Close()
		if err != nil {
			t.Fatalf("%v: %v", want, err)
		}
		want = append(want, "config.json")
		slices.Sort(want)
		if got := s.Files(); !slices.Equal(got, want) {
			t.Errorf("pulled %v, want %v", got, want)
		}
		for _, file := range want[1:] {
			delete(repo.Files, file)
		}
		repo.Files["config.json"] = []byte(`{}`)
	}
	h := fakehub.New(repo)
	defer h.Close()
	o.Endpoint = h.URL
	_, err := hub.Pull(t.Context(), name("a/b"), o)
	if !errors.Is(err, hub.ErrNoWeights) || !strings.Contains(err.Error(), ".onnx") {
		t.Errorf("no weights: %v", err)
	}
}

// TestAnIndexBringsItsShards: where there is no config.json, and where Pull or Look is told it.
func TestAnIndexBringsItsShards(t *testing.T) {
	const index, shard = "model.safetensors.index.fp16.json", "model.fp16-00001-of-00001.safetensors"
	text := []byte(`{"weight_map": {"a": "` + shard + `"}}`)
	h, o := start(t, &fakehub.Repo{Name: "a/b", Files: map[string][]byte{"config.json": []byte(`{}`),
		"model.safetensors": pattern(10), "sub/" + index: text, "sub/" + shard: pattern(11)}})
	s, err := hub.Pull(t.Context(), name("a/b"), o, "sub/"+index)
	if err != nil || !slices.Equal(s.Files(), []string{"sub/" + shard, "sub/" + index}) {
		t.Errorf("%v, %v", s, err)
	}
	r, err := hub.Look(t.Context(), name("a/b"), o, "sub/"+index)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if r.Weights != index || r.Size != 11 {
		t.Errorf("%s, %d bytes", r.Weights, r.Size)
	}
	o.Cache = filepath.Join(t.TempDir(), "hub")
	h.Put(&fakehub.Repo{Name: "a/b", Files: map[string][]byte{index: text, shard: pattern(12)}})
	s, err = hub.Pull(t.Context(), name("a/b"), o)
	if err != nil || !slices.Equal(s.Files(), []string{shard, index}) {
		t.Errorf("%v, %v", s, err)
	}
	h.Put(&fakehub.Repo{Name: "a/b", Files: map[string][]byte{index: text, shard: pattern(12),
		"model.ema.safetensors": pattern(13)}})
	if _, err = hub.Pull(t.Context(), name("a/b"), o); !errors.Is(err, hub.ErrChoose) {
		t.Errorf("two variants: %v", err)
	}
}

func TestRepositoriesWithoutAConfig(t *testing.T) {
	repo := &fakehub.Repo{Name: "a/b", Files: map[string][]byte{
		"ckpt.pt": pattern(20), "meta.pkl": pattern(21), "README.md": pattern(22)}}
	h, o := start(t, repo)
	s, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Files(); !slices.Equal(got, []string{"ckpt.pt", "meta.pkl"}) {
		t.Errorf("pulled %v", got)
	}
	delete(repo.Files, "ckpt.pt")
	for i := range 10 {
		repo.Files[fmt.Sprintf("gpt.Q%d.gguf", i)] = pattern(100 + i)
	}
	_, err = hub.Pull(t.Context(), name("a/b"), o)
	if !errors.Is(err, hub.ErrChoose) || !strings.HasSuffix(err.Error(),
		": gpt.Q0.gguf, gpt.Q1.gguf, gpt.Q2.gguf, gpt.Q3.gguf, gpt.Q4.gguf, gpt.Q5.gguf, "+
			"gpt.Q6.gguf, gpt.Q7.gguf and 2 more") {
		t.Errorf("several: %v", err)
	}
	s, err = hub.Pull(t.Context(), name("a/b"), o, "gpt.Q3.gguf")
	if err != nil || !slices.Equal(s.Files(), []string{"gpt.Q3.gguf"}) {
		t.Errorf("one: %v, %v", s, err)
	}
	_, err = hub.Pull(t.Context(), name("a/b"), o, "gpt.Q11.gguf")
	if !errors.Is(err, hub.ErrNoFile) {
		t.Errorf("one that is not there: %v", err)
	}
	h.Put(&fakehub.Repo{Name: "a/sub", Files: map[string][]byte{"x/gpt.gguf": pattern(5)}})
	_, err = hub.Pull(t.Context(), name("a/sub"), o)
	var in *hub.FolderError
	if !errors.As(err, &in) || in.Repo != "a/sub" || !slices.Equal(in.Folders, []string{"x"}) {
		t.Errorf("one in a folder: %v", err)
	}
	h.Put(&fakehub.Repo{Name: "a/tf", Files: map[string][]byte{"model.ckpt.index": pattern(5),
		"model.ckpt.data-00000-of-00001": pattern(6), "model.ckpt.meta": pattern(7),
		"checkpoint": pattern(8), "hparams.json": []byte("{}"), "encoder.json": []byte("{}"),
		"vocab.bpe": pattern(9)}})
	s, err = hub.Pull(t.Context(), name("a/tf"), o)
	if err != nil || !slices.Equal(s.Files(), []string{"checkpoint", "encoder.json",
		"hparams.json", "model.ckpt.data-00000-of-00001", "model.ckpt.index", "vocab.bpe"}) {
		t.Errorf("TensorFlow: %v, %v", s, err)
	}
}

func TestTheConfigIsCheckedBeforeTheWeightsCome(t *testing.T) {
	h, o := start(t, gpt2("a/b"))
	wrong := errors.New("n_head: want one")
	o.CheckConfig = func(b []byte) error {
		if string(b) != `{"model_type": "gpt2"}` {
			t.Errorf("config %s", b)
		}
		return wrong
	}
	_, err := hub.Pull(t.Context(), name("a/b"), o)
	if !errors.Is(err, wrong) || err.Error() != "a/b/config.json: n_head: want one" {
		t.Error(err)
	}
	for _, r := range h.Requests() {
		if !strings.HasSuffix(r.Path, "/config.json") {
			t.Errorf("asked for %s", r.Path)
		}
	}
	if _, err := hub.Find(name("a/b"), o); !errors.Is(err, hub.ErrAbsent) {
		t.Errorf("found: %v", err)
	}
}

func TestWithoutLinks(t *testing.T) {
	repo := gpt2("a/b")
	_, o := start(t, repo)
	o.NoSymlinks = true
	s, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil {
		t.Fatal(err)
	}
	if got := tree(t, s.Dir); !strings.Contains(got, "model.safetensors 300000\n") ||
		strings.Contains(got, "->") {
		t.Errorf("the snapshot is\n%s", got)
	}
	if got := tree(t, filepath.Join(o.Cache, "models--a--b", "blobs")); got != "" {
		t.Errorf("blobs holds\n%s", got)
	}
	// A blob that another snapshot's links lead to is copied and stays.
	_, o = start(t, repo)
	if _, err := hub.Pull(t.Context(), name("a/b"), o); err != nil {
		t.Fatal(err)
	}
	repo.Files["README.md"] = []byte("new") // another commit
	o.NoSymlinks = true
	s2, err := hub.Pull(t.Context(), name("a/b"), o)
	if err != nil || s2.Commit == s.Commit {
		t.Fatal(s2, err)
	}
	if !s2.Has("model.safetensors") || !find(t, "a/b@"+s.Commit, o).Has("model.safetensors") {
		t.Error("the weights of one of two snapshots are gone")
	}
}

func find(t *testing.T, n string, o hub.Options) *hub.Snapshot {
	t.Helper()
	s, err := hub.Find(name(n), o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}
