package main

// SPEED.md's predictions for an H200. A test compares these numbers with its table.

// A prediction is the speed of texts that are generated together, or the time of a prompt.
type prediction struct {
	model, dtype string
	sessions     int    // 0 means a prompt of 512 tokens, in ms
	text         string // as in SPEED.md: tokens a second, or ms
}

var predictions = []prediction{
	{"gpt2", "f16", 1, "3,100"},
	{"gpt2", "q8", 1, "2,900"},
	{"gpt2-xl", "f16", 1, "540"},
	{"gpt2-xl", "q8", 1, "670"},
	{"gpt2", "f16", 64, "50,000 to 60,000"},
	{"gpt2", "q8", 64, "50,000"},
	{"gpt2", "f32", 0, "4 to 5"},
}
