package gpu

// The best logits of rows, chosen on the device, so that the other logits are not copied to the
// host. kernels/best.cl describes the result, and numbers its words as this file does.

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"unsafe"

	"picogpt/kernels"
	"picogpt/model/stack"
)

const (
	chunkLogits = 2048
	chunkRuns   = 32
	runLogits   = chunkLogits / chunkRuns
	mostRuns    = 4096 // of a row
	mostBest    = 128  // logits of a row; if more are wanted, the row itself is read

	bestSum, bestGreatest, bestNext, bestRun = 0, 2, 3, 4 // words of a row
)

// bestWords returns the number of words that the kernels write for a row.
func bestWords(k int) int { return bestRun + k*(1+runLogits) }

// runsOf returns the number of runs of a row.
func runsOf(vocab int) int { return chunkRuns * groups(vocab, chunkLogits) }

// A chooser chooses the best logits on the host from the kernels' results.
type chooser struct {
	k     int           // runs of each row; 0 if the kernels choose none
	words []uint32      // of all rows of the group
	own   []uint32      // memory for them, which is reused by the next pass
	near  [][]candidate // of each row of the group; the memory is reused by the next pass
	pick  func(*kernels.Worker)
}

// A candidate is a logit that may be one of the best.
type candidate struct {
	id    int32
	logit float32
}

// mostChosen returns how many of the greatest logits of a row the device can choose.
func (b *backend) mostChosen() int {
	runs := runsOf(b.params.Vocab)
	if !b.info.Doubles || runs > mostRuns {
		return 0
	}
	return min(mostBest, runs/2)
}

// chosen returns how many runs the kernels choose of each row of the group. It is a power of two,
// because a recording has one such number, or 0 if all rows are wanted whole.
func (b *backend) chosen() int {
	k := 0
	for i := range b.Wanted {
		if n := b.Needs(i); n <= b.mostChosen() {
			k = max(k, n)
		}
	}
	if k == 0 {
		return 0
	}
	return min(1<<bits.Len(uint(k-1)), b.mostChosen())
}

// choose finds the k best runs of n rows of logits, and the sums of their exponentials.
func (q *queue) choose(n, k int) {
	s := &q.scratch
	vocab, runs := integer(q.params.Vocab), runsOf(q.params.Vocab)
	chunks := [3]int{runs / chunkRuns, n, 1}
	maxima, logits, all := memory(s.maxima), memory(s.logits), integer(runs)
	q.launch("best_maxima", chunks, 256, maxima, logits, vocab, all)
	q.launch("best_runs", chunks, 256, memory(s.best), maxima, logits, vocab, all, integer(k))
	q.launch("best_terms", chunks, 256, memory(s.terms), maxima, logits, vocab, all)
	q.launch("best_sum", [3]int{n, 1, 1}, 256, memory(s.best), memory(s.terms), all, integer(k))
}

// readBest reads the kernels' results, and sets Outputs.Best from them. If they do not decide, or a
// row is wanted whole, its Best stays without ids.
func (q *queue) readBest() {
	c, n := &q.chooser, len(q.Wanted)
	for len(c.near) < n {
		c.near = append(c.near, nil)
	}
	if words := n * bestWords(c.k); q.replayed && q.scratch.hostBest != nil {
		q.err = fromDevice(q.driver.(Pinner).Wait())
		c.words = numbersOf(q.scratch.hostBest)[:words]
	} else {
		c.own = slices.Grow(c.own[:0], words)[:words]
		q.err = fromDevice(q.driver.Read(bytesOf(c.own), q.scratch.best, 0))
		c.words = c.own
	}
	if q.err == nil {
		q.runTeam(n*c.k*runLogits, c.pick)
	}
}

// numbersOf returns the numbers in memory that a Pinner has returned.
func numbersOf(memory []byte) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(&memory[0])), len(memory)/4)
}

// pickBest is the workers' part of readBest.
func (b *backend) pickBest(w *kernels.Worker) {
	c := &b.chooser
	for i := w.Next(); i < len(b.Wanted); i = w.Next() {
		if n := b.Needs(i); n > 0 && n <= c.k {
			words := c.words[i*bestWords(c.k):][:bestWords(c.k)]
			c.near[i] = best(&b.Best[i], words, c.near[i], n, b.params.Vocab)
			if to := &b.Best[i]; len(to.IDs) > 0 && !b.Enough(i) {
				to.IDs, to.Logits = to.IDs[:0], to.Logits[:0]
			}
		}
	}
	w.Sync()
}

// best sets to to the k best logits of a row, from the best runs of the row. These hold all logits
// that are greater than the maximum of the next best run. If fewer than k are, or a logit is not
// finite, to does not change. best returns near, which is scratch memory.
func best(to *stack.Best, words []uint32, near []candidate, k, vocab int) []candidate {
	greatest := math.Float32frombits(words[bestGreatest])
	if !(greatest <= math.MaxFloat32) {
		return near
	}
	near = nearest(near[:0], words[bestRun:], math.Float32frombits(words[bestNext]), vocab)
	if len(near) < k {
		return near
	}
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Compare(b.logit, a.logit) })
	for k < len(near) && near[k].logit == near[k-1].logit {
		k++
	}
	near = near[:k]
	slices.SortFunc(near, func(a, b candidate) int { return cmp.Compare(a.id, b.id) })
	for _, c := range near {
		to.IDs, to.Logits = append(to.IDs, c.id), append(to.Logits, c.logit)
	}
	sum := math.Float64frombits(uint64(words[bestSum]) | uint64(words[bestSum+1])<<32)
	to.LogSumExp = float64(greatest) + kernels.Log64(sum)
	return near
}

// nearest appends the logits of runs that are greater than a limit.
func nearest(near []candidate, runs []uint32, limit float32, vocab int) []candidate {
	for ; len(runs) > 0; runs = runs[1+runLogits:] {
		first := int(runs[0])/chunkRuns*chunkLogits + int(runs[0])%chunkRuns
		for i, bits := range runs[1 : 1+runLogits] {
			if x := math.Float32frombits(bits); x > limit && first+i*chunkRuns < vocab {
				near = append(near, candidate{int32(first + i*chunkRuns), x})
			}
		}
	}
	return near
}
