package kernels

// Linear layers on float weights for one row, or a few: reading the weights takes all the time. A
// processor reads fastest if each worker reads a few long streams. So the workers share the inputs,
// which are whole rows of weights, and not the columns: a part of a short row is not a long stream.

import "sync/atomic"

const (
	streamRows   = 4    // rows of linearStream at most: with more, the sums leave the first caches,
	streamFloats = 8192 // unless they are few; each worker must have segments of its own
	// bytes of a row of weights from which on several rows of one segment read as well as several
	// segments
	wideRow = 4096
)

// streams is what the workers share in a linearStream. All of it is zero between two calls.
type streams struct {
	// for each range of inputs: its part of the segment that it shares with the next range is done
	passed []mark
	done   []mark // for each run of columns: how many ranges, without the last, are done
	sums   sharedFloats
}

// A mark has a cache line of its own.
type mark struct {
	atomic.Uint32
	_ [60]byte
}

func (s *streams) reset() {
	for i := range s.passed {
		s.passed[i].Store(0)
		s.done[i].Store(0)
	}
}

// A stream is one task: the inputs from … to of a run of columns, for all rows. If two ranges share
// a segment, the second one continues the chain with the sums of the first.
type stream struct {
	w         *Worker
	m         *Matrix
	x         []float32 // [rows, In]
	packed    []float32 // x in chainRows's order, if there are several rows
	rows      int
	sums      []float32 // [segments, rows, Out]
	bias      []float32
	col, cols int // the run
}

// linearStream computes the product for few rows. Its caller must wait at the last barrier.
func linearStream(w *Worker, dst, x []float32, rows int, m *Matrix, bias []float32) {
	shared, ranges := &w.team.streams, w.ranges(m.In)
	each := w.share(m.Out*ranges, 2*panelCols, m.Out*ranges) // a task for each worker
	runs := (m.Out + each - 1) / each
	s := stream{w: w, m: m, x: x, rows: rows, bias: bias,
		sums: shared.sums.get(max(1, (m.In+segment-1)/segment) * rows * m.Out)}
	if rows > 1 {
		s.packed = w.packGroups(x, rows, m.In)
	}
	for t := w.Next(); t < runs*ranges; t = w.Next() {
		// a range waits for the one before it, which another worker has already begun
		r, run := t%ranges, t/ranges
		s.col, s.cols = run*each, min(each, m.Out-run*each)
		s.run(rangeStart(m.In, r, ranges), rangeStart(m.In, r+1, ranges), t)
		first := 1 // the first segment that is not already part of segment 0
		if ranges > 1 {
			first = rangeStart(m.In, 1, ranges) / segment
		}
		done := &shared.done[run].Uint32
		switch {
		case r == ranges-1:
			s.await(done, uint32(ranges-1))
			done.Store(0)
			s.fold(first, (m.In+segment-1)/segment)
			s.copy(dst)
		case r == 0: // the last range, which adds it up, need not fetch it from this processor
			s.fold(1, first)
			fallthrough
		default:
			w.team.tell(done, 1)
		}
	}
}

// await waits until other workers have set a word to want.
func (s *stream) await(word *atomic.Uint32, want uint32) {
	for n := word.Load(); n != want; {
		next := s.w.team.await(word, n)
		if next == n {
			s.w.unwind()
		}
		n = next
	}
}

// ranges returns the number of parts of the inputs: a divisor of the number of workers, so that all
// have the same number of tasks. Each part has at least one segment.
func (w *Worker) ranges(in int) int {
	n := max(1, min(w.Size(), in/segment))
	for w.Size()%n != 0 {
		n--
	}
	return n
}

// rangeStart returns the first input of range r.
func rangeStart(in, r, ranges int) int {
	if r == ranges {
		return in
	}
	return in * r / ranges &^ 7
}

// run computes the inputs from … to: first the segment that the next range continues, then the
// segments of its own, several at a time if the rows of weights are short, and last the segment that
// the previous range has begun. task is the number of the task.
func (s *stream) run(from, to, task int) {
	m, v, passed, last := s.m, s.w.team.variant, s.w.team.streams.passed, to
	if to < m.In && to%segment != 0 {
		last = to / segment * segment
		s.begin(last/segment, 1)
		s.chain(last, to)
		s.w.team.tell(&passed[task].Uint32, 1)
	}
	first, ld := (from+segment-1)/segment*segment, m.stride()
	k, count := first, max(0, last-first)/segment
	if s.rows == 1 && count > 1 && ld*m.weightBytes() < wideRow {
		s.begin(k/segment, count)
		y, x, at := s.sums[k/segment*m.Out+s.col:], s.x[k:], k*ld+s.col
		if m.Format == F32 {
			v.chains(y, m.Out, x, m.F32[at:], ld, count, segment, s.cols)
		} else {
			v.halves(m.bf16()).chains(y, m.Out, x, m.F16[at:], ld, count, segment, s.cols)
		}
		k += count * segment
	}
	for ; k < last || k == 0; k += segment {
		s.begin(k/segment, 1)
		s.chain(k, min(k+segment, last))
	}
	if from < first {
		s.await(&passed[task-1].Uint32, 1)
		passed[task-1].Store(0)
		s.chain(from, first)
	}
}

// begin sets the sums of some segments to their initial values.
func (s *stream) begin(first, segments int) {
	for i := first * s.rows; i < (first+segments)*s.rows; i++ {
		bias := s.bias
		if i >= s.rows {
			bias = nil
		}
		setBias(s.sums[i*s.m.Out+s.col:][:s.cols], bias, s.col)
	}
}

// chain continues the sums of one segment over the inputs from … to.
func (s *stream) chain(from, to int) {
	y := s.sums[from/segment*s.rows*s.m.Out+s.col:]
	if s.rows == 1 {
		s.m.chain(s.w.team.variant, y[:s.cols], s.x[from:to], from, s.col)
		return
	}
	s.m.chainRows(s.w.team.variant, y, s.m.Out, s.x, s.packed, s.rows, from, to, s.col, s.cols)
}

// fold adds the sums of the segments first … last-1 to those of segment 0, in order.
func (s *stream) fold(first, last int) {
	for i := range s.rows {
		y := s.sums[i*s.m.Out+s.col:][:s.cols]
		for n := first; n < last; n++ {
			s.w.team.variant.add(y, s.sums[(n*s.rows+i)*s.m.Out+s.col:][:s.cols])
		}
	}
}

// copy sets the run's columns of dst to the sums of segment 0.
func (s *stream) copy(dst []float32) {
	for i := range s.rows {
		copy(dst[i*s.m.Out+s.col:][:s.cols], s.sums[i*s.m.Out+s.col:])
	}
}
