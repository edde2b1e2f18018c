// Package eval measures text with a model: perplexity by the published definition of each protocol
// (Perplexity, Measure), also of many documents that are measured anywhere and added up (MeasureEach,
// Total), log-likelihoods token by token (Score), the likeliest of several continuations with their
// probabilities (Choose, Answers), and the benchmarks built on them (Lambada, Choice).
//
//	r, err := eval.Perplexity(ctx, m, tokens, eval.Options{Protocol: eval.HF})
//	fmt.Println(r.Perplexity, r.Scored)
//
//	for s, err := range eval.Score(ctx, m, tok, requests, eval.ScoreOptions{}) { … }
//
//	a, err := eval.Choose(ctx, m, tok, "It was", " good", " bad")
//	fmt.Println(a.Best, a.Probabilities)
//
// A score in JSON is a Record, the line that gpt score writes. A Digest of records tells whether
// two runs scored the same texts alike.
//
// # Numerics
//
// The log-probability of a token is its logit less the log-sum-exp of all logits, in float64 from
// the model's float32 logits. Sums run over the tokens in the order of the text. A number therefore
// depends on the checkpoint, its number format, the text and the protocol, and on nothing else: not
// on the batch, the threads, the kernels or the machine.
//
// Memory holds the text, its ids and the windows of one batch. Logits are looked at as they are
// computed; they are never kept.
package eval
