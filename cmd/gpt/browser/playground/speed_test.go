package playground_test

import (
	"testing"
	"time"
)

func TestSpeedX(t *testing.T) {
	h := hostOf(t)
	b := tab{chromium(t), &fake{Server: h.Server}, t}
	t0 := time.Now()
	b.Open(h.URL+"/class/", started)
	t.Log("cold", time.Since(t0))
	for _, n := range []int{1, 1, 24, 24, 24, 48} {
		t0 = time.Now()
		b.ask("v1/completions", map[string]any{"prompt": "Once upon a time", "max_tokens": n, "temperature": 0.8, "top_k": 40, "seed": 7})
		t.Log(n, time.Since(t0))
	}
	t0 = time.Now()
	b.ask("v1/completions", map[string]any{"prompt": "The dog sat on the mat. A 🐟 naïve 日本語", "max_tokens": 0, "echo": true, "logprobs": 5})
	t.Log("score", time.Since(t0))
	t0 = time.Now()
	b.ask("inside", map[string]any{"prompt": "Once upon a time there was a little", "top": 5})
	t.Log("inside", time.Since(t0))
	t0 = time.Now()
	b.Open(h.URL+"/class/", started)
	b.ask("v1/completions", map[string]any{"prompt": "Once upon a time", "max_tokens": 1, "temperature": 0.8, "top_k": 40, "seed": 7})
	t.Log("warm", time.Since(t0))
}
