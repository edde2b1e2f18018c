// Package model is the GPT-2 decoder: tokens in, logits out, nothing else.
//
//	c, err := checkpoint.Open("models/gpt2")
//	defer c.Close()
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
//	defer m.Close()
//	s := m.NewSession()
//	err = m.Eval(ctx, model.Input{Session: s, Tokens: ids})
//	next := s.Logits() // [vocab_size], after the last token
//
// There are three lifetimes. A [Config] is a value. A [Model] is weights, immutable and shared by
// all sessions. A [Session] is one timeline of tokens with its key/value cache, used by one
// goroutine at a time. [Model.Eval] is the one way forward: a prompt, a decoding step, many
// sessions at once and checks of many tokens are all calls of it.
//
// The logits are the same to the last bit whatever the number of threads, the batch a session was
// evaluated in, the way its tokens were divided over calls of Eval, and the kernels that ran.
//
// The forward pass on the processor is package internal/cpu's forward.go; package reference has the
// same model in float64, for reading.
package model
