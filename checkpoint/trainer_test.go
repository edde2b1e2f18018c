package checkpoint_test

// The whole folder that Hugging Face's Trainer leaves, with GPT-2's vocabulary.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"picogpt/checkpoint"
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
	isDemo(t, c, ids)
}

// isDemo holds the logits of a checkpoint to those of the demo.
func isDemo(t *testing.T, c *checkpoint.Checkpoint, ids []int) {
	t.Helper()
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

// sharded puts the only safetensors file of a folder into two shards, with the names that
// save_pretrained gives them (transformers 5.24): of a variant, such as ".fp16", or of none, "".
func sharded(t *testing.T, all folder.Memory, variant string) {
	t.Helper()
	f, err := weights.FromBytes("", all[folder.Safetensors])
	if err != nil {
		t.Fatal(err)
	}
	delete(all, folder.Safetensors)
	where := map[string]string{}
	for i := range 2 {
		name := fmt.Sprintf("model%s-%05d-of-00002.safetensors", variant, i+1)
		part := f.All()[i*len(f.All())/2 : (i+1)*len(f.All())/2]
		for _, tensor := range part {
			where[tensor.Name] = name
		}
		var file bytes.Buffer
		if err := weights.Write(&file, map[string]string{"format": "pt"}, part); err != nil {
			t.Fatal(err)
		}
		all[name] = file.Bytes()
	}
	index, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": f.Size()},
		"weight_map": where})
	if err != nil {
		t.Fatal(err)
	}
	all["model.safetensors.index"+variant+".json"] = index
}

// TestShardsOfAVariant: save_pretrained(variant="fp16", max_shard_size=...) puts the variant into the
// names of the shards and of their index. Beside the files of no variant they are not taken, and a
// note says so.
func TestShardsOfAVariant(t *testing.T) {
	for _, variant := range []string{"", ".fp16", ".fp16-ema"} {
		all := trained(t)
		plain := all[folder.Safetensors]
		sharded(t, all, variant)
		index := "model.safetensors.index" + variant + ".json"
		for _, named := range []string{"", index} {
			c, err := checkpoint.OpenFS(all, named, checkpoint.Options{})
			if err != nil {
				t.Fatalf("%s, %q: %v", variant, named, err)
			}
			if got := c.Tensors.Name(); got != index {
				t.Errorf("%s, %q: %s is taken", variant, named, got)
			}
			if strings.Contains(strings.Join(c.Notes, "\n"), "variants") {
				t.Errorf("%s, %q: notes %q", variant, named, c.Notes)
			}
			isDemo(t, c, []int{1, 2, 3})
			c.Close()
		}
		for name := range all {
			if !checkpoint.Part(name, "") && strings.HasPrefix(name, "model") {
				t.Errorf("%s is no part of a checkpoint", name)
			}
		}
		all[folder.Safetensors] = plain
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
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := folder.Memory{}
	variant := strings.NewReplacer("pytorch_model-", "pytorch_model.fp16-", ".index.json", ".index.fp16.json")
	for _, e := range list {
		b, err := os.ReadFile(dir + "/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(e.Name(), ".index.json") {
			b = []byte(variant.Replace(string(b)))
		}
		all[variant.Replace(e.Name())] = b
	}
	c, err := checkpoint.OpenFS(all, "", checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	want, err := checkpoint.Open(dir, checkpoint.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer want.Close()
	if got := c.Tensors.Name(); got != "pytorch_model.bin.index.fp16.json" {
		t.Errorf("%s is taken", got)
	}
	for i, tensor := range want.Tensors.All() {
		other := c.Tensors.All()[i]
		if same, err := tensor.Equal(other); err != nil || !same || other.Name != tensor.Name {
			t.Errorf("%s: %v, %v", tensor.Name, same, err)
		}
	}
}
