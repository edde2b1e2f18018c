package decode

// A vocabulary of ids without text.

import "picogpt/tokenizer"

// OnlyIDs returns a vocabulary of the ids below size without the gaps. Its tokens have no text.
func OnlyIDs(size int, gaps []int) Vocabulary { return onlyIDs{size, gaps} }

type onlyIDs struct {
	size int
	gaps []int
}

func (v onlyIDs) Size() int                                 { return v.size }
func (v onlyIDs) Gaps() []int                               { return v.gaps }
func (v onlyIDs) NewDecoder(before []int) tokenizer.Decoder { return v }
func (v onlyIDs) Push(int) (string, error)                  { return "", nil }
func (v onlyIDs) Flush() string                             { return "" }
func (v onlyIDs) Fork() tokenizer.Decoder                   { return v }
