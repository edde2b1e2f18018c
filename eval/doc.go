// Package eval measures text with a model. It has perplexity by the published definition of each
// protocol (Perplexity, Measure), also for many documents that are measured on several machines and
// added up (MeasureEach, Total); log-likelihoods token by token (Score); the likeliest of several
// continuations with their probabilities (Choose, Answers); the benchmarks that use these (Lambada,
// Choice); and the vectors of texts (Embed) and their labels (Classify).
//
//	r, err := eval.Perplexity(ctx, m, tokens, eval.Options{Protocol: eval.HF})
//	fmt.Println(r.Perplexity, r.Scored)
//
//	for s, err := range eval.Score(ctx, m, tok, requests, eval.ScoreOptions{}) { … }
//
//	a, err := eval.Choose(ctx, m, tok, "It was", " good", " bad")
//	fmt.Println(a.Best, a.Probabilities)
//
// Its types, in the order to read them:
//
//   - [Perplexity] measures a text by a [Protocol], which says which tokens count, and after what;
//     [Options] have one, and a [Result] is what comes.
//   - [Request] asks for the score of a text, and [Scored] is the answer, [Token] by token.
//   - [Question] is a context with several continuations, and [Answer] says which is the likeliest.
//   - [Embedded] is the vector of a text, [Classified] its label.
//   - [Document] is a text of many that are measured apart; [Measured] are added up.
//   - [Comparison] is two models on one text.
//
// The JSON of a score is a Record, a line of gpt score's output. A Digest of records tells whether
// two runs gave the same scores.
//
// # Numerics
//
// The log-probability of a token is its logit minus the log-sum-exp of all logits, in float64 from
// the model's float32 logits. Sums run over the tokens in the order of the text. So a number
// depends only on the checkpoint, its number format, the text and the protocol. It does not depend
// on the batch, the threads, the kernels or the machine.
//
// Memory holds the text, its ids and the windows of one batch. Logits are used while they are
// computed and are not kept.
package eval
