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

func ExampleChoose() {
	m, tok := loadExample(), tokenizer.GPT2()
	defer m.Close()
	ids, err := tok.Encode("Tom was very")
	if err != nil {
		log.Fatal(err)
	}
	found, err := search.Choose(context.Background(), m.NewSession(), ids, tok,
		[]string{" happy.", " sad.", " happy and sad."}, search.ChooseOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, c := range found.Choices {
		fmt.Printf("%.4f%s\n", c.Prob, c.Text)
	}
	// Output:
	// 0.7972 happy.
	// 0.2019 sad.
	// 0.0009 happy and sad.
}

func ExampleTree() {
	m, tok := loadExample(), tokenizer.GPT2()
	defer m.Close()
	ids, err := tok.Encode("Once upon a")
	if err != nil {
		log.Fatal(err)
	}
	tree, err := search.NewTree(context.Background(), m.NewSession(), ids,
		search.TreeOptions{MinProb: 0.05, MaxTokens: 8, Vocabulary: tok})
	if err != nil {
		log.Fatal(err)
	}
	defer tree.Close()
	for text, err := range tree.Texts(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		for _, t := range text.Tokens {
			fmt.Print(t.Text)
		}
		fmt.Printf(" (log-probability %.2f; no other above %.3f)\n", text.LogProb, text.Rest)
	}
	// Output:
	//  time, there was a little girl named (log-probability -1.50; no other above 0.060)
	//  time, there was a little boy named (log-probability -2.81; no other above 0.050)
}
