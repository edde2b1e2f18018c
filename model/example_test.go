package model_test

import (
	"context"
	"fmt"
	"log"

	"picogpt/checkpoint"
	"picogpt/kernels"
	"picogpt/model"
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

// Ids in, logits out. The second call evaluates the second token only: the session has the rest.
func ExampleModel_Eval() {
	m := loadExample()
	defer m.Close()
	s := m.NewSession()
	next := []int{7454, 2402} // "Once upon"
	for range 3 {
		if err := m.Eval(context.Background(), model.Input{Session: s, Tokens: next}); err != nil {
			log.Fatal(err)
		}
		next = []int{kernels.Argmax(s.Logits())}
		fmt.Println(s.Tokens(), next)
	}
	// Output:
	// [7454 2402] [257]
	// [7454 2402 257] [640]
	// [7454 2402 257 640] [11]
}

// Two continuations of "The dog" share its memory, and are evaluated together.
func ExampleSession_Fork() {
	m := loadExample()
	defer m.Close()
	ctx, s := context.Background(), m.NewSession()
	if err := m.Eval(ctx, model.Input{Session: s, Tokens: []int{464, 3290}}); err != nil {
		log.Fatal(err)
	}
	a, b := s.Fork(2), s.Fork(2)
	err := m.Eval(ctx, model.Input{Session: a, Tokens: []int{373}}, // " was"
		model.Input{Session: b, Tokens: []int{4966}}) // " ran"
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Tokens(), kernels.Argmax(a.Logits()), b.Tokens(), kernels.Argmax(b.Logits()))
	// Output: [464 3290 373] 845 [464 3290 4966] 1497
}
