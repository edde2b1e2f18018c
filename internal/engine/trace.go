package engine

// Traces: the values of points that a caller reads, and the edits that change them.

import "picogpt/model/stack"

// A Trace says what a span's caller reads inside of the pass, and changes.
type Trace struct {
	Reads Points
	From  int // Tokens[From:] are read

	// Read is called for each point of Reads and each token that is read, by any worker, several at
	// a time, with the values after the edits. i is the index of the token in the span. x is valid
	// only during the call.
	Read func(at stack.Point, i int, x []float32)

	Edits []stack.Edit // applied in their order
}

// Points is a set of points: for each layer a bit for each kind. Kinds that there are once are in
// layer 0.
type Points []uint32

// Add adds a point, or with AllLayers those of all layers.
func (s Points) Add(p stack.Point) {
	if p.Layer == stack.AllLayers && !p.Kind.Once() {
		for i := range s {
			s[i] |= 1 << p.Kind
		}
		return
	}
	s[max(0, p.Layer)] |= 1 << p.Kind
}

// Has reports whether a point is in the set.
func (s Points) Has(p stack.Point) bool { return s != nil && s[p.Layer]>>p.Kind&1 != 0 }

// Union adds all points of another set.
func (s Points) Union(o Points) {
	for i, kinds := range o {
		s[i] |= kinds
	}
}
