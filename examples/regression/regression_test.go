package main

import (
	"os"
	"testing"

	"picogpt"
	"picogpt/eval"
	"picogpt/weights/demo"
)

func TestPerplexity(t *testing.T) {
	gpt, err := picogpt.OpenFS(t.Context(), demo.FS(), picogpt.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer gpt.Close()
	story, err := os.ReadFile("story.txt")
	if err != nil {
		t.Fatal(err)
	}
	text, err := eval.NewText(eval.HF, gpt.Tokenizer(), string(story))
	if err != nil {
		t.Fatal(err)
	}
	eval.ExpectPerplexity(t, gpt.Model(), text, eval.Options{}, "19.0893")
}
