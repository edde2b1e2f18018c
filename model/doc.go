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
// all sessions. A [Session] is one sequence of tokens with its key/value cache, used by one
// goroutine at a time. [Model.Eval] is the only way to evaluate tokens: a prompt, a decoding step,
// many sessions at once and the check of many drafted tokens are all calls of it.
//
// [Session.Save] and [Model.Restore] write a session to a file and read it, which is much quicker
// than to evaluate its tokens again, and gives the same bits.
//
// The logits are the same to the last bit for any number of threads, any batch, any division of the
// tokens over calls of Eval, and any kernels.
//
// The forward pass on the processor is in package internal/cpu, forward.go. Package reference has
// the same model in float64, for reading.
package model
