package guess_test

import (
	"context"
	"fmt"
	"log"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/decode/guess"
	"picogpt/model"
	"picogpt/weights/demo"
)

// A smaller or faster model of the same vocabulary guesses tokens, of which the model checks
// several at a time: here the demo guesses for itself, in q8. The text is the same without it.
func Example() {
	ctx := context.Background()
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()
	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	drafts, err := model.New(ctx, c.Config, c.Tensors, model.Options{Format: "q8"})
	if err != nil {
		log.Fatal(err)
	}
	defer drafts.Close()
	tok, err := c.Tokenizer()
	if err != nil {
		log.Fatal(err)
	}
	ids, err := tok.Encode("Once upon a time")
	if err != nil {
		log.Fatal(err)
	}
	o := decode.Options{MaxTokens: 12, Vocabulary: tok, Draft: &guess.Model{Model: drafts}}
	for t, err := range decode.Generate(ctx, m.NewSession(), ids, o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text) // t.Guessed says whether it had been guessed
	}
	// Output: , there was a little girl named Lily. She loved to
}
