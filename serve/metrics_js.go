package serve

// In a browser nobody asks for metrics: nothing is counted, and Prometheus's library is not linked.

import "net/http"

type metrics struct {
	page http.Handler

	finished, answers                counters
	firstToken, betweenTokens, whole histogram
	queued, prefill, decode          histogram
	promptTokens, newTokens          histogram
}

func newMetrics(*Server) *metrics { return &metrics{page: http.NotFoundHandler()} }

type counters struct{}

func (c counters) WithLabelValues(...string) counters { return c }
func (counters) Inc()                                 {}
func (counters) Add(float64)                          {}

type histogram struct{}

func (histogram) Observe(float64) {}
