// Package inside says what a model does inside: what each layer would predict (Lens), which parts
// add up to a logit (Attribute), which values make the difference between two texts (Patch), and
// what becomes of a logit without a part (Ablate) or without seeing a token (Knockout). Sweep is for
// experiments of your own: one text with many lists of edits. At is for one position of a session:
// its attention, lens and attribution, from one pass. Heads says where each head of attention looks.
// ReadArrays hands out what is computed, raw or as TransformerLens has it.
//
//	table, err := inside.Lens(ctx, m, tokens, inside.LensOptions{})
//	fmt.Println(table.Layers[3][len(tokens)-1].Top)
//
// Its types, in the order to read them:
//
//   - [LensTable] is what each layer would predict, each cell a [Prediction]; [Tuned] is a lens that
//     was trained.
//   - [Metric] is what is asked of a prediction: a logit, or the difference of two.
//   - [Attribution] is a metric as a sum of [Parts].
//   - [PatchTable] is how much of a difference each value makes.
//   - [Effects] is what becomes of a metric without a part.
//   - [HeadTable] has the scores of the heads of attention, each a [HeadScore].
//   - [Position] is all of that at one position of a session.
//   - [Array] is values of the forward pass as a file has them.
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
//	top, p            the likeliest ids, and their probabilities
//	entropy, kl       in nats; kl is the divergence of the last layer's prediction from this one,
//	                  Σ p ln(p/q), where p is the last layer's
//	rank              how many logits are greater than the target's: 0 is the likeliest
//	difference        logit(target) − logit(against), or − the mean of all logits
//	parts             "embed", "pos", "head 3.1", "attn_bias 0", "mlp 2", "ln_f.b"; of Ablate and
//	                  Knockout "head 3.1", "attn 3", "mlp 2", "token 0"
//	heads             previous, first, self, duplicate, induction, entropy, distance: see HeadScore
//	clean, corrupted  the differences of two texts
//	hook_resid_pre …  of a patched text: [layer][position] or [layer][head]
//	share             of the way from corrupted to clean
package inside
