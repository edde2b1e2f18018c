package decode_test

import (
	"context"
	"fmt"
	"log"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/sample"
	"picogpt/tokenizer"
	"picogpt/weights/demo"
)

// loadDemo returns a model of the demo checkpoint, which is in the program. For one in a folder,
// begin with checkpoint.Open.
func loadDemo() *model.Model {
	c, err := checkpoint.OpenFS(demo.FS(), "", checkpoint.Options{})
	if err != nil {
		log.Fatal(err)
	}
	m, err := model.New(context.Background(), c.Config, c.Tensors, model.Options{})
	if err != nil {
		log.Fatal(err)
	}
	return m
}

// encode returns the ids of a text.
func encode(tok *tokenizer.Tokenizer, text string) []int {
	ids, err := tok.Encode(text)
	if err != nil {
		log.Fatal(err)
	}
	return ids
}

func ExampleGenerate() {
	m := loadDemo()
	defer m.Close()
	tok := tokenizer.GPT2()
	prompt := "Once upon a time"
	fmt.Print(prompt)
	for t, err := range decode.Generate(context.Background(), m.NewSession(), encode(tok, prompt),
		decode.Options{Vocabulary: tok, MaxTokens: 60, Stop: []string{"One day"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(t.Text) // as it comes
		if t.Finish != "" {
			fmt.Printf("[%s]\n", t.Finish)
		}
	}
	// Output:
	// Once upon a time, there was a little girl named Lily. She loved to play outside in the sun. [stop]
}

// The session keeps the tokens that it has read, so that a dialogue, or a second look at one story,
// costs only the new tokens.
func ExampleGenerate_goOn() {
	m := loadDemo()
	defer m.Close()
	tok := tokenizer.GPT2()
	s := m.NewSession()
	next := encode(tok, "The dog was very")
	for range 2 {
		for t, err := range decode.Generate(context.Background(), s, next,
			decode.Options{Vocabulary: tok, MaxTokens: 8}) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Print(t.Text)
			next = []int{t.ID} // chosen, not yet evaluated
		}
		fmt.Printf(" [%d tokens held]\n", s.Len())
	}
	// Output:
	// happy and he was so happy. He [11 tokens held]
	//  thanked the dog for helping him. From [19 tokens held]
}

func ExampleSamples() {
	m := loadDemo()
	defer m.Close()
	tok := tokenizer.GPT2()
	texts := make([]string, 3)
	for t, err := range decode.Samples(context.Background(), m.NewSession(),
		encode(tok, "Tom and Sue went to the"), len(texts),
		decode.Options{Vocabulary: tok, MaxTokens: 10, Params: sample.Params{Temperature: 0.8,
			TopK: 40, Seed: 1}}) {
		if err != nil {
			log.Fatal(err)
		}
		texts[t.Sample] += t.Text
	}
	for i, text := range texts {
		fmt.Printf("seed %d:%s\n", 1+i, text)
	}
	// Output:
	// seed 1: zoo. They saw a beautiful lake. They had
	// seed 2: park with their mom. They saw a big slide
	// seed 3: park.
	// At the park, Tom saw a
}
