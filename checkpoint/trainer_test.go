package checkpoint_test

// The whole folder that Hugging Face's Trainer leaves, with GPT-2's vocabulary.

import (
	"bytes"
	"context"
	"maps"
	"slices"
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
