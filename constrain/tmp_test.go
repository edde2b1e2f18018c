package constrain

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"
)

func TestTmp(t *testing.T) {
	list := append(slices.Clone(judged), `{"type":"string","pattern":"a.*b"}`, `{"type":"string","pattern":"[a-z]+@[a-z]+\\.com"}`, `{"type":"string","pattern":"^.{10,500}$"}`, `{"type":"string","pattern":"^[A-Za-z0-9_]{1,64}$"}`, `{"type":"string","pattern":"^\\p{L}+( \\p{L}+)*$"}`,
		`{"type":"string","format":"date-time"}`, `{"type":"string","format":"ipv6"}`, `{"type":"string","format":"date"}`, `{"type":"string","format":"uuid"}`, `{"type":"string","pattern":"^(\\([0-9]{3}\\))?[0-9]{3}-[0-9]{4}$"}`, `{"type":"string","pattern":"^a","maxLength":1000}`)
	for _, s := range list {
		best := time.Hour
		var c *Constraint
		for range 3 {
			t0 := time.Now()
			var err error
			c, err = JSONSchema(gpt2(), []byte(s), SchemaOptions{})
			if err != nil {
				t.Fatal(err)
			}
			best = min(best, time.Since(t0))
		}
		w := &walker{rand.New(rand.NewPCG(3, 9)), make([]uint64, gpt2().Words())}
		var ds []time.Duration
		for range 4 {
			m, _ := c.Start()
			for range 60 {
				t0 := time.Now()
				m.Mask(w.mask)
				ds = append(ds, time.Since(t0))
				if m.Complete() && w.rnd.IntN(3) == 0 {
					break
				}
				w.mask[endOfText>>6] &^= 1 << (endOfText & 63)
				id := w.choose(false)
				if id < 0 {
					break
				}
				m.Accept(id)
			}
		}
		slices.Sort(ds)
		fmt.Fprintf(os.Stderr, "%-60.60s compile %8v masks %4d p50 %8v p90 %8v worst %8v\n", s, best.Round(time.Microsecond), len(ds), ds[len(ds)/2], ds[len(ds)*9/10], ds[len(ds)-1])
	}
	// big schema
	big := `{"type":"object","properties":{`
	for i := range 1000 {
		if i > 0 {
			big += ","
		}
		big += fmt.Sprintf(`"prop%d":{"type":"object","properties":{"x":{"type":"string","maxLength":%d},"y":{"type":"integer","minimum":%d}},"required":["x"]}`, i, i+1, i)
	}
	big += `},"required":["prop999"]}`
	t0 := time.Now()
	c, err := JSONSchema(gpt2(), []byte(big), SchemaOptions{})
	fmt.Fprintln(os.Stderr, "big", time.Since(t0), err)
	m, _ := c.Start()
	w := &walker{rand.New(rand.NewPCG(3, 9)), make([]uint64, gpt2().Words())}
	for i := range 40 {
		t0 = time.Now()
		m.Mask(w.mask)
		d := time.Since(t0)
		if d > 200*time.Microsecond {
			fmt.Fprintln(os.Stderr, "mask", i, d)
		}
		id := w.choose(false)
		if id < 0 {
			break
		}
		m.Accept(id)
	}
}
