package serve

// The JSON of an answer, whole or one event of a stream.

import (
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// usage counts tokens. A prompt counts once, whatever n is.
type usage struct{ prompt, completion int }

// appendAnswer appends an answer, or one event of a stream. used is nil for none.
func (j *job) appendAnswer(b []byte, choices []*choice, used *usage) []byte {
	b = j.appendHead(b)
	for i, c := range choices {
		if i > 0 {
			b = append(b, ',')
		}
		b = j.appendChoice(b, c)
	}
	return j.appendTail(b, used)
}

// appendHead appends what comes before the choices.
func (j *job) appendHead(b []byte) []byte {
	kind, id := "text_completion", "cmpl-"
	switch {
	case j.chat && j.stream:
		kind, id = "chat.completion.chunk", "chatcmpl-"
	case j.chat:
		kind, id = "chat.completion", "chatcmpl-"
	}
	b = append(append(append(b, `{"id":"`...), id...), j.visit.id...)
	b = append(append(append(b, `","object":"`...), kind...), `","created":`...)
	b = strconv.AppendInt(b, j.visit.start.Unix(), 10)
	b = append(b, `,"model":`...)
	b = appendString(b, j.server.options.Name)
	return append(b, `,"choices":[`...)
}

// appendTail appends what comes after the choices.
func (j *job) appendTail(b []byte, used *usage) []byte {
	b = append(b, ']')
	if print := j.server.options.Fingerprint; print != "" {
		b = append(b, `,"system_fingerprint":`...)
		b = appendString(b, print)
	}
	return append(appendUsage(b, used, j.stream && j.usage), '}')
}

// appendUsage appends what was used; null in the events of a stream before the last.
func appendUsage(b []byte, used *usage, null bool) []byte {
	switch {
	case used != nil:
		b = append(b, `,"usage":{"prompt_tokens":`...)
		b = strconv.AppendInt(b, int64(used.prompt), 10)
		b = append(b, `,"completion_tokens":`...)
		b = strconv.AppendInt(b, int64(used.completion), 10)
		b = append(b, `,"total_tokens":`...)
		b = strconv.AppendInt(b, int64(used.prompt+used.completion), 10)
		b = append(b, '}')
	case null:
		b = append(b, `,"usage":null`...)
	}
	return b
}

func (j *job) appendChoice(b []byte, c *choice) []byte {
	b = append(b, `{"index":`...)
	b = strconv.AppendInt(b, int64(c.index), 10)
	b = append(b, ',')
	if j.chat {
		b = j.appendMessage(b, c)
	} else {
		b = j.appendText(b, c)
	}
	b = append(b, `,"finish_reason":`...)
	b = appendOrNull(b, c.finish)
	b = append(b, `,"stop_reason":`...)
	if c.stop.isID {
		b = strconv.AppendInt(b, int64(c.stop.id), 10)
	} else {
		b = appendOrNull(b, c.stop.text)
	}
	if j.idsToo {
		b = append(b, `,"prompt_token_ids":`...)
		if c.first {
			b = appendIDs(b, j.prompt[c.index/j.n].ids)
		} else {
			b = append(b, "null"...)
		}
		b = append(b, `,"token_ids":`...)
		b = appendIDs(b, c.ids)
	}
	return append(b, '}')
}

func (j *job) appendText(b []byte, c *choice) []byte {
	b = append(b, `"text":`...)
	if c.echo == "" {
		b = appendString(b, c.text)
	} else { // apart: an echo that ends in half of a character is as if it were alone
		b = appendString(b, c.echo)
		b = append(b[:len(b)-1], appendString(nil, c.text)[1:]...)
	}
	b = append(b, `,"logprobs":`...)
	if j.logprobs == nil {
		return append(b, "null"...)
	}
	return j.appendLogprobs(b, c.entries)
}

func appendIDs(b []byte, ids []int) []byte {
	b = append(b, '[')
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return append(b, ']')
}

// appendString appends a text. A byte that is no part of a character becomes U+FFFD.
func appendString[T string | []byte](b []byte, s T) []byte {
	b, _ = jsontext.AppendQuote(b, s) // whose error says that there was such a byte
	return b
}

// appendOrNull appends a text, null if it is empty.
func appendOrNull(b []byte, s string) []byte {
	if s == "" {
		return append(b, "null"...)
	}
	return appendString(b, s)
}

// appendLogProb appends a log-probability: the shortest digits that give the same number back, so
// that equal numbers are equal texts. NaN is null, and −∞ is OpenAI's −9999.
func appendLogProb(b []byte, x float64) []byte {
	switch {
	case math.IsNaN(x):
		return append(b, "null"...)
	case x < -9999:
		return append(b, "-9999"...)
	}
	return strconv.AppendFloat(b, x, 'g', -1, 64)
}
