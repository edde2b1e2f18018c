package serve

// Log-probabilities as completions have them: four lists, an element for each token.

import (
	"math"
	"strconv"
)

// appendLogprobs appends the lists of entries.
func (j *job) appendLogprobs(b []byte, entries []entry) []byte {
	b = append(b, `{"tokens":`...)
	b = appendList(b, entries, func(b []byte, e *entry) []byte {
		return appendString(b, j.name(e.id))
	})
	b = append(b, `,"token_logprobs":`...)
	b = appendList(b, entries, func(b []byte, e *entry) []byte {
		return appendLogProb(b, e.logProb)
	})
	b = append(b, `,"top_logprobs":`...)
	b = appendList(b, entries, j.appendTop)
	b = append(b, `,"text_offset":`...)
	b = appendList(b, entries, func(b []byte, e *entry) []byte {
		return strconv.AppendInt(b, int64(e.offset), 10)
	})
	return append(b, '}')
}

func appendList(b []byte, entries []entry, one func([]byte, *entry) []byte) []byte {
	b = append(b, '[')
	for i := range entries {
		if i > 0 {
			b = append(b, ',')
		}
		b = one(b, &entries[i])
	}
	return append(b, ']')
}

// appendTop appends the likeliest tokens, and the one that is there if it is not among them: a name
// once.
func (j *job) appendTop(b []byte, e *entry) []byte {
	if math.IsNaN(e.logProb) {
		return append(b, "null"...)
	}
	b = append(b, '{')
	var names []string
	member := func(id int, logProb float64) {
		name := j.name(id)
		for _, known := range names {
			if known == name {
				return
			}
		}
		if len(names) > 0 {
			b = append(b, ',')
		}
		names = append(names, name)
		b = append(appendString(b, name), ':')
		b = appendLogProb(b, logProb)
	}
	for _, a := range e.top {
		member(a.ID, a.LogProb)
	}
	member(e.id, e.logProb)
	return append(b, '}')
}

func (j *job) name(id int) string { return j.server.vocabulary.name(id, j.idTokens) }
