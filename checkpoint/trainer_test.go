package checkpoint_test

// The whole folder that Hugging Face's Trainer leaves, with GPT-2's vocabulary.

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
	"picogpt/dev/fixture"
	"picogpt/dev/testmodel"
	"picogpt/internal/folder"
	"picogpt/model"
	"picogpt/tokenizer"
	"picogpt/weights"
	"picogpt/weights/demo"
)

// trained returns the demo as a Trainer leaves it after a training, without its tokenizer: names
// with the prefix of the model with a head, and files that hold no weights of the model beside it.
func trained(t *testing.T) folder.Memory {
	t.Helper()
	f, err := weights.FromBytes("demo", demo.Weights())
	if err != nil {
		t.Fatal(err)
	}
	tensors := slices.Clone(f.All())
	for i := range tensors {
		tensors[i].Name = "transformer." + tensors[i].Name
	}
	var file, optimizer bytes.Buffer
	if err := weights.Write(&file, map[string]string{"format": "pt"}, tensors); err != nil {
		t.Fatal(err)
	}
	if err := weights.Write(&optimizer, nil, tensors[:2]); err != nil { // moments have such shapes
		t.Fatal(err)
	}
	zip, text := []byte("PK\x03\x04"), func(s string) []byte { return []byte(s) }
	return folder.Memory{
		"config.json": demo.Config(), "model.safetensors": file.Bytes(),
		"generation_config.json": text(`{"_from_model_config": true, "bos_token_id": 50256,
			"eos_token_id": 50256, "transformers_version": "5.24.0"}`),
		"training_args.bin": zip, "optimizer.pt": zip, "scheduler.pt": zip, "scaler.pt": zip,
		"rng_state.pth": zip, "rng_state_0.pth": zip, "optimizer.bin": optimizer.Bytes(),
		"trainer_state.json": text(`{"global_step": 1500, "best_model_checkpoint": null}`),
		"all_results.json":   text(`{"epoch": 3.0, "perplexity": 7.9}`),
		"eval_results.json":  text(`{}`), "train_results.json": text(`{}`),
		"README.md": text("---\nlicense: mit\n---\n"), ".gitattributes": text("*.bin filter=lfs\n"),
	}
}

// TestTheFolderThatATrainerLeaves: it opens like the demo itself, with GPT-2's ids, whatever lies
// beside the weights.
func TestTheFolderThatATrainerLeaves(t *testing.T) {
	files, err := tokenizer.GPT2().Files()
	if err != nil {
		t.Fatal(err)
	}
	all := trained(t)
	maps.Copy(all, files)
	all["special_tokens_map.json"] = []byte(`{"bos_token": "<|endoftext|>", "eos_token":
		{"content": "<|endoftext|>", "lstrip": false, "rstrip": false, "single_word": false}}`)
	all["tokenizer_config.json"] = []byte(`{"tokenizer_class": "GPT2Tokenizer",
		"add_prefix_space": false, "model_max_length": 1024,
		"added_tokens_decoder": {"50256": {"content": "<|endoftext|>", "special": true}}}`)
	c, err := checkpoint.OpenFS(all, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		t.Fatal(err)
	}
	const story = "Once upon a time<|endoftext|> don't 12\n\n  é"
	ids, err := tok.Encode(story)
	want, _ := tokenizer.GPT2().Encode(story)
	if err != nil || !slices.Equal(ids, want) {
		t.Errorf("%v, %v, want %v", ids, err, want)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	got, right := logits(t, m, ids), logits(t, testmodel.Demo(t, model.Options{}), ids)
	for i := range right {
		if !slices.Equal(got[i], right[i]) {
			t.Fatalf("logits of token %d are not the demo's", i)
		}
	}
}

// filesOf returns the files of a folder.
func filesOf(t *testing.T, dir string) folder.Memory {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := folder.Memory{}
	for _, e := range list {
		if all[e.Name()], err = os.ReadFile(filepath.Join(dir, e.Name())); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// same holds the tensors of a checkpoint to those that are wanted.
func same(t *testing.T, c *checkpoint.Checkpoint, want *weights.Tensors) {
	t.Helper()
	if got := len(c.Tensors.All()); got != len(want.All()) {
		t.Errorf("%d tensors, want %d", got, len(want.All()))
	}
	for _, tensor := range want.All() {
		other, _ := c.Tensors.Tensor(tensor.Name)
		if same, err := tensor.Equal(other); err != nil || !same {
			t.Errorf("%s: other weights, %v", tensor.Name, err)
		}
	}
}

// TestShardsOfAVariant: save_pretrained(variant="fp16", max_shard_size=...) of transformers 5.24 puts
// the variant into the names of the shards and of their index. Beside files of no variant it is not
// taken, and a note says so.
func TestShardsOfAVariant(t *testing.T) {
	config, plain := fixture.Checkpoint(fixture.Options{})
	want, err := weights.FromBytes("", plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, variant := range []string{"", ".fp16", ".fp16-ema"} {
		dir := t.TempDir()
		if err := fixture.Write(dir, fixture.Options{Shards: 2, Variant: variant}); err != nil {
			t.Fatal(err)
		}
		all := trained(t)
		delete(all, folder.Safetensors)
		maps.Copy(all, filesOf(t, dir))
		index := "model.safetensors.index" + variant + ".json"
		for _, named := range []string{"", index} {
			c, err := checkpoint.OpenFS(all, named, checkpoint.Options{})
			if err != nil {
				t.Fatalf("%s, %q: %v", variant, named, err)
			}
			if got := c.Tensors.Name(); got != index || strings.Contains(strings.Join(c.Notes, ""), "variant") {
				t.Errorf("%s, %q: %s is taken, notes %q", variant, named, got, c.Notes)
			}
			same(t, c, want)
			c.Close()
		}
		for name := range all {
			if strings.HasPrefix(name, "model") && !checkpoint.Part(name, "") {
				t.Errorf("%s is no part of a checkpoint", name)
			}
		}
		all[folder.Safetensors], all[folder.Config] = plain, config
		c, err := checkpoint.OpenFS(all, "", checkpoint.Options{})
		if err != nil {
			t.Fatal(err)
		}
		said := slices.Contains(c.Notes, "model.safetensors is taken; variants are there too, "+index+
			": name the file that is wanted")
		if c.Tensors.Name() != folder.Safetensors || said != (variant != "") {
			t.Errorf("%s: %s is taken, notes %q", variant, c.Tensors.Name(), c.Notes)
		}
		c.Close()
	}
}

// TestShardsOfAVariantByPyTorch: as transformers 4 wrote and 5.24 reads them.
func TestShardsOfAVariantByPyTorch(t *testing.T) {
	const dir = formats + "/bin-sharded-f16"
	want, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	variant := strings.NewReplacer("pytorch_model-", "pytorch_model.fp16-", ".index.json", ".index.fp16.json")
	all := folder.Memory{}
	for name, b := range filesOf(t, dir) {
		if strings.HasSuffix(name, ".json") {
			b = []byte(variant.Replace(string(b)))
		}
		all[variant.Replace(name)] = b
	}
	c, err := checkpoint.OpenFS(all, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if got := c.Tensors.Name(); got != "pytorch_model.bin.index.fp16.json" {
		t.Errorf("%s is taken", got)
	}
	same(t, c, want.Tensors)
}
