package sample_test

import (
	"fmt"
	"log"

	"picogpt/sample"
)

// A program's own loop: the sampler sees one row of logits at a time.
func ExampleSampler() {
	s, err := sample.NewSampler(sample.Params{Temperature: 1, TopP: 0.99, Seed: 4}, sample.IDs{})
	if err != nil {
		log.Fatal(err)
	}
	logits := []float32{2, 1, 0, -3}
	for range 6 {
		id, err := s.Next(logits, nil)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d (%.3f) ", id, sample.LogProb(logits, id))
	}
	// Output:
	// 1 (-1.412) 1 (-1.412) 0 (-0.412) 0 (-0.412) 0 (-0.412) 1 (-1.412)
}
