// The forward pass of GPT-2, from top to bottom. Read this file first: the rest of the project
// computes the same, faster.

// Package reference is picoGPT (jaymody's gpt2.py) in Go: GPT-2 in float64 on gonum, function for
// function, with the few variations that real checkpoints need. It keeps no cache and computes
// every position again for every token, so it is slow. It is here to be read, as a second opinion
// on a checkpoint, and as the oracle of the tests of the fast packages. It shares no code with
// them.
//
//	m, err := reference.Open("models/gpt2")
//	ids, err := m.Encoder.Encode("Alan Turing theorized that")
//	for id, err := range m.Generate(ctx, ids, 8, nil) { … }
//
// The files are picoGPT's: gpt2.go is gpt2.py on gonum, encoder.go and vocab.go are encoder.py on
// tiktoken-go, model.go and params.go are utils.py on nlpodyssey/safetensors.
package reference

import (
	"math"

	"gonum.org/v1/gonum/floats"
)

// gelu is the tanh form, GPT-2's own ("gelu_new" in a config); params.go has the others.
func gelu(x float64) float64 {
	return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
}

func softmax(x *Matrix) *Matrix { // [m, n] -> [m, n], each row sums to 1
	return eachRow(x, func(row []float64) {
		top := floats.Max(row) // the largest exponent becomes 0, so nothing overflows
		for j, v := range row {
			row[j] = math.Exp(v - top)
		}
		floats.Scale(1/floats.Sum(row), row)
	})
}

func layerNorm(x *Matrix, ln LayerNorm, eps float64) *Matrix { // [m, n_embd] -> [m, n_embd]
	return eachRow(x, func(row []float64) {
		mean, variance := meanVariance(row)
		for j, v := range row {
			row[j] = ln.G[j]*(v-mean)/math.Sqrt(variance+eps) + ln.B[j]
		}
	})
}

func linear(x *Matrix, l Linear) *Matrix { // [m, in], [in, out], [out] -> [m, out]
	return eachRow(matmul(x, l.W), func(row []float64) { floats.Add(row, l.B) })
}

func ffn(x *Matrix, mlp MLP, hp HParams) *Matrix { // [n_seq, n_embd] -> [n_seq, n_embd]
	a := each(linear(x, mlp.CFC), activation(hp.Activation)) // [n_seq, n_embd] -> [n_seq, n_inner]
	return linear(a, mlp.CProj)                              // [n_seq, n_inner] -> [n_seq, n_embd]
}

// [n_q, d_k], [n_k, d_k], [n_k, d_v], [n_q, n_k] -> [n_q, d_v]
func attention(q, k, v, mask *Matrix, scale float64) *Matrix {
	scores := add(times(scale, matmulT(q, k)), mask) // [n_q, d_k] @ [d_k, n_k] -> [n_q, n_k]
	return matmul(softmax(scores), v)                // [n_q, n_k] @ [n_k, d_v] -> [n_q, d_v]
}

// [n_seq, n_embd] -> [n_seq, n_embd]
func mha(x *Matrix, attn Attn, hp HParams, layer int) *Matrix {
	// [n_seq, n_embd] -> [n_seq, 3*n_embd] -> [3, n_seq, n_embd]
	qkv := split(linear(x, attn.CAttn), 3)
	if hp.Cache == "f16" {
		qkv[1], qkv[2] = each(qkv[1], half), each(qkv[2], half)
	}
	q := split(qkv[0], hp.Head) // [n_seq, n_embd] -> [n_head, n_seq, n_embd/n_head]
	k := split(qkv[1], hp.Head)
	v := split(qkv[2], hp.Head)
	for h := 0; hp.Cache == "q8" && h < hp.Head; h++ { // a scale for 32 numbers of a key, or for a value
		k[h] = eachRow(k[h], func(row []float64) { eight(row, 32) })
		v[h] = eachRow(v[h], func(row []float64) { eight(row, v[h].Cols) })
	}

	mask := causalMask(x.Rows)    // [n_seq, n_seq]
	scale := attnScale(hp, layer) // 1/sqrt(n_embd/n_head), unless one of two flags changes it

	heads := make([]*Matrix, hp.Head) // [n_head, n_seq, n_embd/n_head]
	for h := range heads {
		heads[h] = attention(q[h], k[h], v[h], mask, scale)
	}
	return linear(hstack(heads), attn.CProj) // [n_seq, n_embd] -> [n_seq, n_embd]
}

// causalMask hides later positions from position i. Added to scores of ordinary size, -1e10 makes
// exp(score) 0.
func causalMask(n int) *Matrix { // [n_seq, n_seq]
	mask := NewMatrix(n, n, nil)
	for i := range n {
		for j := i + 1; j < n; j++ {
			mask.Row(i)[j] = -1e10
		}
	}
	return mask
}

// [n_seq, n_embd] -> [n_seq, n_embd]
func transformerBlock(x *Matrix, b Block, hp HParams, layer int) *Matrix {
	// each token reads the tokens before it
	x = add(x, mha(layerNorm(x, b.LN1, hp.Epsilon), b.Attn, hp, layer))
	x = add(x, ffn(layerNorm(x, b.LN2, hp.Epsilon), b.MLP, hp)) // each token by itself
	return x
}

// GPT2 returns the logits after each of inputs: [n_seq, n_vocab], where row i holds the
// unnormalised log-probabilities of the token that follows inputs[0..i]. It returns an error if
// inputs is empty or longer than hp.Positions, or an id is no row of wte. The computation is that
// of Radford et al., "Language Models are Unsupervised Multitask Learners" (2019), after picoGPT.
func GPT2(inputs []int, p *Params, hp HParams) (*Matrix, error) { // [n_seq] -> [n_seq, n_vocab]
	if err := checkInputs(inputs, hp); err != nil {
		return nil, err
	}
	x := embed(inputs, p) // [n_seq] -> [n_seq, n_embd]
	for layer, block := range p.Blocks {
		if err := p.watch(layer, x); err != nil {
			return nil, err
		}
		x = transformerBlock(x, block, hp, layer)
	}
	x = layerNorm(x, p.LNF, hp.Epsilon)
	return matmulT(x, p.Head), nil // [n_seq, n_embd] @ [n_embd, n_vocab] -> [n_seq, n_vocab]
}

// [n_seq] -> [n_seq, n_embd]: wte[inputs] + wpe[0..n_seq-1]
func embed(inputs []int, p *Params) *Matrix {
	x := NewMatrix(len(inputs), p.WTE.Cols, nil)
	for i, id := range inputs {
		floats.AddTo(x.Row(i), p.WTE.Row(id), p.WPE.Row(i))
	}
	return x
}

// Generate returns the n tokens that follow inputs greedily: each is the token with the largest
// logit, the lowest id among equals. It returns GPT2's errors, so len(inputs)+n-1 must not exceed
// hp.Positions.
func Generate(inputs []int, p *Params, hp HParams, n int) ([]int, error) {
	ids := append([]int(nil), inputs...)
	for range n {
		logits, err := GPT2(ids, p, hp) // [n_seq, n_vocab]
		if err != nil {
			return nil, err
		}
		next := floats.MaxIdx(logits.Row(len(ids) - 1))
		ids = append(ids, next)
	}
	return ids[len(inputs):], nil
}
