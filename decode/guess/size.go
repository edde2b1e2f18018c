package guess

// What a draft model costs, before it is opened.

import (
	"time"

	"picogpt/model"
)

// SizeOf is about how many bytes a draft model will have, in parts of m's.
func SizeOf(c model.Config, format string, m *model.Model) float64 {
	size := weightsOf(c) / weightsOf(m.Config())
	bits := map[string]float64{"f32": 32, "f16": 16, "bf16": 16, "q8": 9, "q4": 5}
	if format != "auto" { // else it is taken to be of the model's format
		size *= bits[format] / bits[m.Format()]
	}
	return size
}

// OpeningTime is about how long a draft model takes to load, on two processors: a checkpoint in its
// own format none, for it is mapped.
func OpeningTime(c model.Config, format string) time.Duration {
	each := map[string]float64{"q8": 5, "q4": 15} // nanoseconds
	return time.Duration(weightsOf(c) * each[format])
}

// weightsOf is about how many weights a model has.
func weightsOf(c model.Config) float64 {
	n := float64(c.Embd)
	return float64(c.Layer)*n*(4*n+2*float64(c.Inner)) + n*float64(c.VocabSize)
}
