// Package model is the GPT-2 decoder: tokens in, logits out, nothing else.
//
//	c, err := checkpoint.Open("models/gpt2", checkpoint.Options{})
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
// Its types, in the order to read them:
//
//   - [Model] is the weights; [Config] says their sizes, and [Options] how they are held.
//   - [Session] is tokens with their keys and values.
//   - [Input] is a session and the tokens that Eval appends to it; its Visit gets a [Row] for each,
//     with the logits or, as [States] ask for it, a hidden state.
//   - [Trace] reads and changes what a pass computes, at a [Point], by an [Edit].
//   - [Snapshot] is what a file says of the session in it.
//   - [Generation] is the settings that a checkpoint brings along.
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
