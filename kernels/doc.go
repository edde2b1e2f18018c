// Package kernels is the arithmetic of the engine on plain slices. It does not know GPT.
//
// Its types, in the order to read them:
//
//   - [Team] is the workers that compute together, a [Worker] one of them.
//   - [Matrix] is weights in a [Format] and a [Layout]; [Panels] are columns as a tile reads them.
//   - [Attention] is some queries of a head, and what comes of them; [KV] is keys or values of a
//     block of positions. [HeadRows] say where those of each head are.
//   - [Activation] is the function between the two layers of an MLP.
//   - [Leaves] are the operations of one variant.
//
// # The same bits everywhere
//
// Each kernel fixes the order of its floating-point operations as part of its definition. Tiling,
// threads, batches and instruction sets may vary; the result must not, to the last bit. Three
// orders cover nearly everything:
//
//   - chain: an output is one chain of fused multiply-adds, acc = fma(x[k], w[k], acc) for k = 0, 1,
//     2, …, starting from the bias (or the output's old value). A vector lane holds one output, so
//     the order does not depend on lanes, tiles or threads, and a chain may be stored and continued
//     at any k.
//   - segments: chains over 256 inputs each, k = 0 … 255, 256 … 511, …, the first from the bias, the
//     others from +0, added in order: ((s0 + s1) + s2) + …. Long sums lose less precision, and a
//     processor with many slow lanes can compute the segments in parallel.
//   - lanes: eight partial sums by k mod 8, each a chain in k (of fused multiply-adds, or of
//     additions), reduced by one tree: ((l0+l1)+(l2+l3)) + ((l4+l5)+(l6+l7)). A lane past the end
//     keeps its value.
//
// Which kernel uses which:
//
//	Linear, [in,out] weights (InOut)   segments over in, from the bias
//	Linear, [out,in] weights (OutIn)   lanes over in, then + bias
//	Linear, Q8 and Q4 weights          exact int32 sums over blocks of 32; a chain of
//	                                   fma(float32(sum), scale, acc) over the blocks, from +0; then
//	                                   fma(acc, scale of the row, bias)
//	LayerNorm                          lanes for the mean, lanes for the squared deviations
//	AttendTile                         scores: chain over head_dim; softmax: online over blocks of
//	                                   64 keys that start at multiples of 64, lanes for a block's
//	                                   sum; values: chain over a block's keys, then added
//	… over a cache in Q8               scores: as Linear, Q8 weights; values: the weights times the
//	                                   scales of the values, and then as Linear, block by block
//	LogSumExp, SumAtLeast              float64, lanes
//	Sum64                              float64, one after the other
//	Exp, Tanh, Erf and all built on    one operation sequence an element, written in exp.go
//
// F16 and BF16 weights are converted to float32, which is exact, and then follow the float32 rule.
// So do keys and values that a cache stores in F16: see [KV]. Each of these, and in Q8, was rounded
// once, to nearest even, when it was stored and before it was read. All NaNs count as equal: the sign and
// payload of a NaN are not promised.
//
// # What is not finite
//
// A NaN or an infinity in the input, or an overflow during the computation, never becomes finite
// numbers that mean something else. It follows IEEE 754 and PyTorch, with these rules for
// operations that would lose it:
//
//	LayerNorm     a row whose squared deviations overflow is NaN: 1/√Inf = 0 would give the bias
//	Attend        only See, Step, Keep and a Mask of −Inf hide a key: see [Attention]
//	KV in F16     a key or value above 65504, once rounded, is stored as a NaN
//	KV in Q8      32 numbers of a key, or a value, with one of 2¹⁰⁰ or more are stored as NaNs
//	Q8, Q4        a row of x with a NaN or an infinity gives NaN for every output; a block of
//	              weights with one gives NaN for its output
//	activations   a limit is a result: ReLU(−Inf) = ReLU2(−Inf) = 0 and Tanh(±Inf) = ±1; the others
//	              give NaN for −Inf
//	LogSumExp     NaN gives NaN, +Inf gives +Inf
//
// # Variants
//
// A variant is one implementation of the leaf operations: "go" is the definition, in pure Go; the
// others are assembly, or in a browser C (wasm/leaves.c), and tests compare them with it bit for bit. A
// Team has one variant, from NewTeam on.
//
// # Workers
//
// Work runs on a [Team]: [Team.Run] starts one function on every worker (single program, multiple
// data). Inside it there are two kinds of operations:
//
//	kernels.Linear(w, …)   a function with a worker as argument is for all workers together: each
//	                       worker calls it, they share the work, and it ends with a barrier,
//	                       after which its output is complete.
//	w.AttendTile(…)        a method of a worker is for that worker alone: a part of a task, without
//	                       a barrier. Only w.Sync is a barrier.
//
// If a worker panics, the others do not wait for ever: see [Team.Run].
package kernels
