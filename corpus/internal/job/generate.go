package job

// The options of corpus generate.

import "picogpt/internal/genflags"

// GenerateOptions are those of gpt generate --prompts.
type GenerateOptions struct {
	genflags.Usual
	Seed   uint64   `json:"seed"`
	Top    int      `json:"logprobs,omitempty"` // alternatives of a token
	Fields []string `json:"fields,omitempty"`
	Keep   bool     `json:"keep,omitempty"`
}
