// Package inspect says what a model does inside: what each layer would predict (Lens), and which
// parts add up to a logit (Attribute).
//
//	table, err := inspect.Lens(ctx, m, tokens, inspect.LensOptions{})
//	fmt.Println(table.Layers[3][len(tokens)-1].Top)
//
// Everything is computed by model.Eval, with a model.Trace that reads points of the forward
// pass, and by the same kernels: there is no second forward pass. So a number depends on
// the checkpoint, its number format and the text only, and has the same bits on every machine. A
// model that a device computes is refused, because devices have no traces.
//
// Texts are token ids. What is asked about the next token is asked after the last of them: give the
// beginning of a text to ask about a token in the middle. Results are values with JSON, in these
// words:
//
//	top, p         the likeliest ids, and their probabilities
//	entropy, kl    in nats; kl is the divergence of the last layer's prediction from this one,
//	               Σ p ln(p/q), where p is the last layer's
//	rank           how many logits are greater than the target's: 0 is the likeliest
//	difference     logit(target) − logit(against), or − the mean of all logits
//	parts          "embed", "pos", "head 3.1", "attn_bias 0", "mlp 2", "ln_f.b"
package inspect
