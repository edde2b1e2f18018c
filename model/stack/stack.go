// Package stack is what a decoder is made of: its sizes and weights under GPT-2's names ([Params]),
// the places of the forward pass whose values can be read ([Point]), and what changes them ([Edit]).
// Package model computes with it, and has names of its own for the types that its callers need.
package stack

// A Best holds the greatest logits of a row whose logits are all finite: the k greatest, and all
// others that equal the least of these. Top-k keeps the same ones.
type Best struct {
	IDs       []int32   // ascending
	Logits    []float32 // [len(IDs)]
	LogSumExp float64   // of the whole row, computed as kernels.Leaves does
}
