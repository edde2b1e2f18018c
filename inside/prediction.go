package inside

// Predictions: what is reported of one row of logits.

import (
	"math"
	"slices"

	"picogpt/kernels"
)

// predict fills the cell of a layer for position i of a group that begins at position from. The
// last layer comes first, because others are compared with it.
func (l *lens) predict(w *kernels.Worker, from, i, layer int) {
	logits := l.logits[(i*(l.layers+1)+layer)*l.vocab:][:l.vocab]
	if l.o.Logits != nil {
		l.o.Logits(layer, from+i, logits)
	}
	p, leaves := l.final[i], w.Leaves()
	if layer < l.layers {
		p = l.scratch[w.ID()]
	}
	if !leaves.Widen(p, logits) {
		at := int64(layer*l.m.Config().Positions + from + i + 1)
		for old := l.bad.Load(); old == 0 || at < old; old = l.bad.Load() { // the least is reported
			if l.bad.CompareAndSwap(old, at) {
				break
			}
		}
		return
	}
	lse := leaves.LogSumExp(logits)
	leaves.Exp64s(p, p, lse, 1)
	cell := &l.table.Layers[layer][from+i-l.o.From]
	var cross float64
	cell.Entropy, cross = entropies(p, l.final[i], logits, lse)
	if layer < l.layers { // the last layer's entropy is there already
		cell.KL = max(0, cross-l.table.Layers[l.layers][from+i-l.o.From].Entropy)
	}
	cell.Top = greatest(logits, l.o.Top)
	cell.P = make([]float64, len(cell.Top))
	for j, id := range cell.Top {
		cell.P[j] = p[id]
	}
	if l.o.Target != nil {
		rank, target := rankOf(logits, *l.o.Target), p[*l.o.Target]
		cell.Rank, cell.TargetP = &rank, &target
	}
}

// entropies returns the entropy of p, −Σ p ln p, and its cross entropy under another distribution,
// −Σ other ln p, where ln p[i] = logits[i] − lse. The sums are in four lanes by i mod 4.
func entropies(p, other []float64, logits []float32, lse float64) (entropy, cross float64) {
	var own, others [4]float64
	i := 0
	for ; i+4 <= len(logits); i += 4 {
		x, a, b := logits[i:i+4:i+4], p[i:i+4:i+4], other[i:i+4:i+4]
		d0, d1 := lse-float64(x[0]), lse-float64(x[1])
		d2, d3 := lse-float64(x[2]), lse-float64(x[3])
		own[0] += float64(a[0] * d0)
		own[1] += float64(a[1] * d1)
		own[2] += float64(a[2] * d2)
		own[3] += float64(a[3] * d3)
		others[0] += float64(b[0] * d0)
		others[1] += float64(b[1] * d1)
		others[2] += float64(b[2] * d2)
		others[3] += float64(b[3] * d3)
	}
	for ; i < len(logits); i++ {
		d := lse - float64(logits[i])
		own[i%4] += float64(p[i] * d)
		others[i%4] += float64(other[i] * d)
	}
	return max(0, own[0]+own[1]+(own[2]+own[3])), others[0] + others[1] + (others[2] + others[3])
}

// greatest returns the ids of the n greatest logits, the greatest first; of equal ones, the least
// id first.
func greatest(logits []float32, n int) []int {
	ids := make([]int, 0, n+1)
	least := float32(math.Inf(-1))
	for id, v := range logits {
		if v <= least && len(ids) == n {
			continue
		}
		at, _ := slices.BinarySearchFunc(ids, v, func(other int, v float32) int {
			if logits[other] >= v {
				return -1
			}
			return 1
		})
		ids = slices.Insert(ids, at, id)
		if len(ids) > n {
			ids = ids[:n]
		}
		least = logits[ids[len(ids)-1]]
	}
	return ids
}

// rankOf returns how many logits are greater than that of an id.
func rankOf(logits []float32, id int) int {
	rank, target := 0, logits[id]
	for _, v := range logits {
		if v > target {
			rank++
		}
	}
	return rank
}
