package main

// Random walks: texts that only the mask guides.

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"picogpt/constrain"
	"picogpt/tokenizer"
)

const maxTokens = 200

func (r *run) vocabulary() (err error) {
	t := tokenizer.GPT2()
	end, _ := t.EndOfText()
	tokens := make([][]byte, t.Size())
	for id := range tokens {
		text, err := t.Text(id)
		if err != nil {
			return err
		}
		if tokens[id] = []byte(text); len(text) == 1 {
			r.alone[text[0]] = id
		}
	}
	r.vocab, err = constrain.NewVocabulary(tokens, constrain.VocabularyOptions{Ends: []int{end}})
	return err
}

// walk writes a text and checks it with the judge.
func (r *run) walk(c *constrain.Constraint, judge *jsonschema.Schema, seed uint64, name string) {
	if text, ok := r.write(c, seed, name); ok {
		r.judge(judge, name, text)
	}
}

// write writes a text. It reports whether the text is complete.
func (r *run) write(c *constrain.Constraint, seed uint64, name string) (string, bool) {
	rnd := rand.New(rand.NewPCG(seed, 12))
	t, err := c.Start()
	if err != nil {
		r.fail("%s: %v", name, err)
		return "", false
	}
	mask := make([]uint64, r.vocab.Words())
	var text strings.Builder
	most, bounded := maxTokens, r.budget > 0 && t.Bounded()
	if bounded {
		least, _ := t.Least()
		most = max(r.budget, least)
		t.Within(most)
	}
	for n := range most {
		clock, from := time.Now(), processorTime()
		err := t.Mask(mask)
		took := processorTime() - from
		r.masks, r.clock = append(r.masks, took), append(r.clock, time.Since(clock))
		if r.verbose && took > time.Millisecond {
			fmt.Printf("slow %v: %s: %q\n", took, name, text.String())
		}
		if err != nil {
			r.fail("%s: %q: %v", name, text.String(), err)
			return "", false
		}
		if t.Complete() && (n > most/2 || rnd.IntN(2) == 0) {
			return text.String(), true
		}
		if bounded { // nothing but the mask leads to the end
			n = 0
		}
		id := r.choose(rnd, mask, n)
		if id < 0 {
			if !t.Complete() {
				r.fail("%s: %q: nothing can follow", name, text.String())
			}
			return text.String(), t.Complete()
		}
		if err := t.Accept(id); err != nil {
			r.fail("%s: %q: %v", name, text.String(), err)
			return "", false
		}
		text.Write(r.vocab.Bytes(id))
	}
	if bounded {
		if !t.Complete() {
			r.fail("%s: %q is cut after %d tokens", name, text.String(), most)
		}
		return text.String(), t.Complete()
	}
	r.open++
	return "", false
}

// choose draws an open id, often one that is a single byte, and after some time preferably one that
// closes something.
func (r *run) choose(rnd *rand.Rand, mask []uint64, n int) int {
	open := func(id int) bool { return mask[id>>6]>>(id&63)&1 != 0 }
	if n > maxTokens/3 || rnd.IntN(4) == 0 {
		for _, b := range []byte(`"}],:`) {
			if open(r.alone[b]) && rnd.IntN(8) > 0 {
				return r.alone[b]
			}
		}
	}
	var bytes []int
	for _, id := range r.alone {
		if open(id) && len(r.vocab.Bytes(id)) == 1 {
			bytes = append(bytes, id)
		}
	}
	if len(bytes) > 0 && rnd.IntN(2) == 0 {
		return bytes[rnd.IntN(len(bytes))]
	}
	count := 0
	for _, w := range mask {
		count += bits.OnesCount64(w)
	}
	if count == 0 {
		return -1
	}
	pick := rnd.IntN(count)
	for i, w := range mask {
		if k := bits.OnesCount64(w); pick >= k {
			pick -= k
			continue
		}
		for ; pick > 0; pick-- {
			w &= w - 1
		}
		id := 64*i + bits.TrailingZeros64(w)
		if len(r.vocab.Bytes(id)) == 0 { // the end of text
			return r.another(mask, id)
		}
		return id
	}
	return -1
}

// another returns an open id that is not the end of text, or -1.
func (r *run) another(mask []uint64, end int) int {
	for i, w := range mask {
		for ; w != 0; w &= w - 1 {
			if id := 64*i + bits.TrailingZeros64(w); id != end {
				return id
			}
		}
	}
	return -1
}

func (r *run) judge(judge *jsonschema.Schema, name, text string) {
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = judge.Validate(v)
	}
	if err != nil {
		r.fail("%s: wrote %s: %v", name, text, fmt.Sprintf("%.200q", err))
		return
	}
	r.finished++
}

// heap returns the number of bytes that are in use.
func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
