// Package attention is the attention family: scaled dot-product, multi-head and cross attention in
// each of the published parameter layouts, single heads, and linear attention, all in float32 on
// the model's kernels.
//
//	[ScaledDotProduct]       softmax(q·kᵀ/√d + mask)·v, on plain slices
//	[NewGPT2], [NewTorch],   multi-head attention with its projections, by the layout of its
//	[NewEinsum], [NewHead],  parameters: a [Layer], whose methods are Self, Forward, Next, Linear
//	[NewHeads], [NewReduced] and NextLinear
//	[NewFullWidth]
//	[Cache]                  keys and values so far: causal attention token by token
//	[Linear], [LinearState]  φ(q)·(φ(k)ᵀ·v), whose cost grows with the tokens, not with their square
//
// Its types, in the order to read them:
//
//   - [Layer] is attention with its projections; [Sizes] and [Options] say what a call is of.
//   - [Mask] hides keys from queries.
//   - [Cache] is keys and values so far.
//   - [Head] is the parameters of a single head.
//   - [LinearState] is what linear attention keeps of all tokens; [LinearOptions] have its φ.
//
// The decoder does not use this package: its attention over a cache is kernels.CausalAttention,
// which [Cache] uses too.
//
// # Conventions
//
// Slices are row-major, batch first: [batch, tokens, width], heads as [batch, heads, tokens, dim].
// Their sizes are separate arguments. dst must not overlap an input. If a slice does not have its
// sizes, the call panics and names both.
//
// Every call runs on all the workers of a [kernels.Team] and returns when they are done; calls on
// one team take turns.
//
// # What is promised
//
// The bits are the same for any number of threads and any kernel variant, and for a sequence at
// once or token by token. Softmax attention processes the keys in blocks of 64 with a running
// maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Rabe
// and Staats, "Self-attention does not need O(n²) memory", 2021), so its memory grows with the
// tokens, not with their square, unless the weights are wanted.
//
// A query that sees no key gives zeros and zero weights; PyTorch gives NaN. It sees no key if a
// boolean mask, −Inf or the causal mask hides all of them. A row of −1e10 alone hides nothing, as
// in PyTorch, because it is the same for every key. Values must be finite even if a mask hides
// them.
//
// Only a mask hides a key. As in PyTorch, a NaN or +Inf among the scores that a query sees makes
// its result NaN, and so does the overflow of all its scores to −Inf; a score of −Inf beside
// greater scores has a weight of 0. A boolean mask hides a key whatever its score is; −Inf is added
// to the score, so that a NaN stays one. Linear attention gives NaN if its sums overflow. Results
// that are not finite are not reported: a caller that needs to know must check for them, as package
// model does.
package attention
