package search_test

import (
	"context"
	"fmt"
	"log"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/search"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

func loadExample() *model.Model {
	c, err := checkpoint.OpenFS(demo.FS())
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return m
}

func ExampleBeams() {
	m, tok := loadExample(), tokenizer.GPT2()
	defer m.Close()
	ids, err := tok.Encode("Tom lost his")
	if err != nil {
		log.Fatal(err)
	}
	beams := search.BeamOptions{Beams: 4, Return: 3, LengthPenalty: 1}
	best, err := search.Beams(context.Background(), m.NewSession(), ids, beams,
		decode.Options{MaxTokens: 6, Vocabulary: tok})
	if err != nil {
		log.Fatal(err)
	}
	for _, beam := range best {
		fmt.Printf("%.3f%s\n", beam.Score, beam.Text())
	}
	// Output:
	// -1.042 toy car and his toy car
	// -1.075 toy car. He wanted to
	// -1.288 toy car. He was sad
}

func ExampleContrastive() {
	m, tok := loadExample(), tokenizer.GPT2()
	defer m.Close()
	ids, err := tok.Encode("Tom lost his")
	if err != nil {
		log.Fatal(err)
	}
	for t, err := range search.Contrastive(context.Background(), m.NewSession(), ids, 0.6,
		decode.Options{MaxTokens: 12, Vocabulary: tok}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text)
	}
	// Output: face and said, "I'm sorry, Tom. I
}
