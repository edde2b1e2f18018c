package serve

// Metrics for Prometheus, under vLLM's names, so that its dashboards and gateways work.

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"picogpt/batch"
)

// metrics holds the metrics that the server counts; the Batcher has its own.
type metrics struct {
	page http.Handler

	finished                         *prometheus.CounterVec // texts, by finished_reason
	answers                          *prometheus.CounterVec // requests, by status
	firstToken, betweenTokens, whole prometheus.Histogram
	queued, prefill, decode          prometheus.Histogram
	promptTokens, newTokens          prometheus.Histogram // per request
}

func newMetrics(s *Server) *metrics {
	registry := prometheus.NewRegistry()
	// goroutines and the heap, and the process's memory, CPU and files
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	labelled := prometheus.WrapRegistererWith(prometheus.Labels{"model_name": s.options.Name},
		prometheus.WrapRegistererWithPrefix("vllm:", registry))
	m := &metrics{page: promhttp.HandlerFor(registry, promhttp.HandlerOpts{})}
	counters := func(name, help, label string) *prometheus.CounterVec {
		o := prometheus.CounterOpts{Name: name, Help: help}
		c := prometheus.NewCounterVec(o, []string{label})
		labelled.MustRegister(c) // panics if a name occurs twice
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		o := prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}
		h := prometheus.NewHistogram(o)
		labelled.MustRegister(h)
		return h
	}
	m.finished = counters("request_success_total", "Texts that came to their end.",
		"finished_reason")
	for _, reason := range []string{"stop", "length", "abort"} {
		m.finished.WithLabelValues(reason) // exported as 0 from the start
	}
	m.answers = counters("http_requests_total", "Requests that were answered.", "status")

	seconds := prometheus.ExponentialBuckets(0.001, 2, 20) // to 524 s
	m.firstToken = histogram("time_to_first_token_seconds",
		"From a request to its first new token.", seconds)
	m.betweenTokens = histogram("inter_token_latency_seconds", "From token to token of a text.",
		prometheus.ExponentialBuckets(0.0005, 2, 14))
	m.whole = histogram("e2e_request_latency_seconds", "From a request to its end.", seconds)
	m.queued = histogram("request_queue_time_seconds", "Until a prompt had a place.", seconds)
	m.prefill = histogram("request_prefill_time_seconds", "From a place to the first token.",
		seconds)
	m.decode = histogram("request_decode_time_seconds", "From the first token to the last.",
		seconds)
	tokens := prometheus.ExponentialBuckets(1, 2, 14)
	m.promptTokens = histogram("request_prompt_tokens", "Tokens of a request's prompts.", tokens)
	m.newTokens = histogram("request_generation_tokens", "New tokens of a request.", tokens)
	labelled.MustRegister(s.gauges()...)
	return m
}

// gauges returns the metrics that are read, not counted.
func (s *Server) gauges() (all []prometheus.Collector) {
	gauge := func(name, help string, value func(batch.Stats) float64) {
		all = append(all, prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help},
			func() float64 { return value(s.batcher.Stats()) }))
	}
	counter := func(name, help string, value func(batch.Stats) float64) {
		all = append(all, prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help},
			func() float64 { return value(s.batcher.Stats()) }))
	}
	gauge("num_requests_running", "Texts that are being written.",
		func(d batch.Stats) float64 { return float64(d.Running) })
	gauge("num_requests_waiting", "Texts that wait for a place.",
		func(d batch.Stats) float64 { return float64(max(0, s.queue.count()-d.Running)) })
	gauge("kv_cache_usage_perc", "The part of --cache-bytes that is used; 0 without a limit.",
		func(d batch.Stats) float64 {
			if d.CacheLimit == 0 {
				return 0
			}
			return float64(d.CacheBytes) / float64(d.CacheLimit)
		})
	gauge("kv_cache_bytes", "Bytes of the caches of all texts.",
		func(d batch.Stats) float64 { return float64(d.CacheBytes) })
	counter("num_preemptions_total", "Texts that lost their place because the cache was full.",
		func(d batch.Stats) float64 { return float64(d.Preemptions) })
	counter("prompt_tokens_total", "Tokens of prompts that were evaluated.",
		func(d batch.Stats) float64 { return float64(d.PromptTokens) })
	counter("generation_tokens_total", "New tokens.",
		func(d batch.Stats) float64 { return float64(d.NewTokens) })
	counter("prefix_cache_queries_total", "Tokens of prompts that were looked for in the cache.",
		func(d batch.Stats) float64 { return float64(d.PrefixQueries) })
	counter("prefix_cache_hits_total", "Of these, tokens that needed no evaluation.",
		func(d batch.Stats) float64 { return float64(d.PrefixHits) })
	return append(all, iterations{s.batcher, prometheus.NewDesc("iteration_tokens_total",
		"Tokens that a step of the batch evaluated.", nil, nil)})
}

// iterations is a histogram of which the Batcher has the sum and the count.
type iterations struct {
	batcher *batch.Batcher
	desc    *prometheus.Desc
}

func (i iterations) Describe(to chan<- *prometheus.Desc) { to <- i.desc }

func (i iterations) Collect(to chan<- prometheus.Metric) {
	d := i.batcher.Stats()
	to <- prometheus.MustNewConstHistogram(i.desc, uint64(d.Steps), float64(d.Rows), nil)
}

func (s *Server) showMetrics(v *visit) error {
	s.metrics.page.ServeHTTP(v, v.request)
	return nil
}

// A pace records when the tokens of one prompt arrived.
type pace struct {
	progress batch.Progress
	last     []time.Time // by sample
}

// token records the arrival of a token.
func (m *metrics) token(p *pace, sample int) {
	now := time.Now()
	if last := p.last[sample]; !last.IsZero() {
		m.betweenTokens.Observe(now.Sub(last).Seconds())
	}
	p.last[sample] = now
}

// prompt records the times of a prompt's texts.
func (m *metrics) prompt(p *pace) {
	g := &p.progress
	if g.Placed.IsZero() {
		return
	}
	m.queued.Observe(g.Placed.Sub(g.Submitted).Seconds())
	if g.First.IsZero() {
		return
	}
	m.prefill.Observe(g.First.Sub(g.Placed).Seconds())
	m.decode.Observe(time.Since(g.First).Seconds())
}
