// Package attention is the attention family: scaled dot-product, multi-head and cross attention in
// each of the published parameter layouts, single heads, and linear attention, all in float32 on
// the kernels that the model runs.
//
//	[ScaledDotProduct]       softmax(q·kᵀ/√d + mask)·v, on plain slices
//	[NewGPT2], [NewTorch],   multi-head attention with its projections, by the layout of its
//	[NewEinsum], [NewHead],  parameters: a [Layer], whose methods are Self, Forward, Next, Linear
//	[NewHeads], [NewReduced] and NextLinear
//	[NewFullWidth]
//	[Cache]                  keys and values so far: causal attention token by token
//	[Linear], [LinearState]  φ(q)·(φ(k)ᵀ·v), whose cost grows with the tokens, not with their square
//
// The decoder has no part of this package: its attention over a cache is kernels.CausalAttention,
// which [Cache] uses too.
//
// # Conventions
//
// Slices are row-major, batch first: [batch, tokens, width], heads as [batch, heads, tokens, dim].
// Sizes are given beside them. dst never overlaps an input. A slice that does not fit its sizes is
// a caller's bug: the call panics, and names both.
//
// Every call runs on all the workers of a [kernels.Team] and returns when they are done; calls on
// one team take turns.
//
// # What is promised
//
// The same bits for any number of threads and any kernel variant, and for a sequence taken at once
// or token by token. Softmax attention goes over the keys in blocks of 64 and keeps a running
// maximum and sum (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018; Rabe
// and Staats, "Self-attention does not need O(n²) memory", 2021), so its memory grows with the
// tokens, not with their square, unless the weights are asked for.
//
// A query that sees no key at all gives zeros and zero weights, where PyTorch gives NaN. "Sees no
// key" means hidden by a boolean mask, by −Inf, or by the causal mask; a row of −1e10 alone hides
// nothing, as in PyTorch: it is the same for every key. Values must be finite even where they are
// hidden by a mask.
//
// Nothing but a mask hides a key. As in PyTorch, a NaN or +Inf among the scores that a query sees
// makes its result NaN, and so does overflow of all its scores to −Inf; beside greater scores, one
// of −Inf has a weight of 0. A boolean mask hides a key whatever its score is; −Inf is added to the
// score, so that a NaN stays one. Linear attention gives NaN where its sums overflow. Results that
// are not finite are not reported: look for them where that matters, as package model does.
package attention
