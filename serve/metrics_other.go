//go:build !js

package serve

// Metrics for Prometheus, under vLLM's names, so that its dashboards and gateways work.

import (
	"net/http"
	"runtime"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"picogpt/batch"
	"picogpt/internal/engine"
)

// metrics holds the metrics that the server counts; the Batcher has its own.
type metrics struct {
	registry *prometheus.Registry
	page     http.Handler

	finished                         *prometheus.CounterVec // texts, by finished_reason
	answers                          *prometheus.CounterVec // requests, by route and status
	firstToken, betweenTokens, whole prometheus.Histogram
	queued, prefill, decode          prometheus.Histogram
	promptTokens, newTokens          prometheus.Histogram // per request
}

// The buckets of seconds are vLLM's, of vllm/v1/metrics, so that its dashboards show both; those
// before them are for small models, whose tokens take less than vLLM's first bucket.
var (
	firstTokens = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5,
		10, 20, 40, 80, 160, 640, 2560}
	betweenTokens = []float64{.0005, .001, .0025, .005,
		.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}
	latencies = []float64{.001, .003, .01, .03, .1,
		.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680}
)

// tokenBuckets returns 1, 2, 5, 10, 20, 50 … up to the context, as vLLM has them.
func tokenBuckets(most int) (all []float64) {
	for decade := 1; ; decade *= 10 {
		for _, m := range []int{1, 2, 5} {
			if m*decade > most {
				return all
			}
			all = append(all, float64(m*decade))
		}
	}
}

func newMetrics(s *Server) *metrics {
	registry, process := prometheus.NewRegistry(), prometheus.NewRegistry()
	// goroutines and the heap, and the process's memory, CPU and files
	process.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	ours := prometheus.WrapRegistererWith(prometheus.Labels{"model_name": s.options.Name}, registry)
	labelled := prometheus.WrapRegistererWithPrefix("vllm:", ours)
	m := &metrics{registry: registry}
	m.page = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		all := prometheus.Gatherers{process, registry}
		for _, o := range s.others.Made() {
			all = append(all, o.metrics.registry)
		}
		promhttp.HandlerFor(all, promhttp.HandlerOpts{}).ServeHTTP(w, r)
	})
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return promauto.With(labelled).NewHistogram(
			prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	m.finished = promauto.With(labelled).NewCounterVec(prometheus.CounterOpts{
		Name: "request_success_total", Help: "Texts that came to their end.",
	}, []string{"finished_reason"})
	for _, reason := range []string{"stop", "length", "abort", finishError} {
		m.finished.WithLabelValues(reason) // exported as 0 from the start
	}
	m.answers = promauto.With(ours).NewCounterVec(prometheus.CounterOpts{
		Name: "http_requests_total",
		Help: "Requests that were answered, by the route's pattern, or other.",
	}, []string{"handler", "status"})
	m.firstToken = histogram("time_to_first_token_seconds",
		"From a request to its first new token.", firstTokens)
	m.betweenTokens = histogram("inter_token_latency_seconds", "From token to token of a text.",
		betweenTokens)
	m.whole = histogram("e2e_request_latency_seconds",
		"From a request with a prompt to its end.", latencies)
	m.queued = histogram("request_queue_time_seconds", "Until a prompt had a place.", latencies)
	m.prefill = histogram("request_prefill_time_seconds", "From a place to the first token.",
		latencies)
	m.decode = histogram("request_decode_time_seconds", "From the first token to the last.",
		latencies)
	tokens := tokenBuckets(s.model.Config().Positions)
	m.promptTokens = histogram("request_prompt_tokens", "Tokens of a request's prompts.", tokens)
	m.newTokens = histogram("request_generation_tokens", "New tokens of a request.", tokens)
	promauto.With(ours).NewGaugeFunc(prometheus.GaugeOpts{
		Name: "gpt_build_info",
		Help: "1. The labels say which build serves; those of the same arithmetic give the same " +
			"bits.",
		ConstLabels: prometheus.Labels{
			"version": s.options.Version, "commit": s.options.Commit, "build": s.options.Build,
			"goversion": runtime.Version(), "arithmetic": strconv.Itoa(engine.Arithmetic),
		},
	}, func() float64 { return 1 })
	labelled.MustRegister(collector{s})
	return m
}

// A collector makes metrics of what is counted elsewhere: by the Batcher, and the queue.
type collector struct{ *Server }

func (c collector) Describe(to chan<- *prometheus.Desc) { prometheus.DescribeByCollect(c, to) }

func (c collector) Collect(to chan<- prometheus.Metric) {
	const gauge, counter = prometheus.GaugeValue, prometheus.CounterValue
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, nil, nil)
	}
	d, used := c.batcher.Stats(), 0.0
	if d.CacheLimit > 0 {
		used = float64(d.CacheBytes) / float64(d.CacheLimit)
	}
	for _, x := range []struct {
		kind       prometheus.ValueType
		value      float64
		name, help string
	}{
		{gauge, float64(d.Running), "num_requests_running", "Texts that are being written."},
		{gauge, float64(max(0, int(c.queue.texts.Load())-d.Running)), "num_requests_waiting",
			"Texts that wait for a place."},
		{gauge, used, "kv_cache_usage_perc",
			"The part of --cache-bytes that is used; 0 without a limit."},
		{gauge, float64(d.CacheBytes), "kv_cache_bytes", "Bytes of the caches of all texts."},
		{gauge, float64(c.adapters.Bytes()), "lora_bytes", "Bytes of the copies for adapters."},
		{counter, float64(d.Preemptions), "num_preemptions_total",
			"Texts that lost their place because the cache was full."},
		{counter, float64(d.PromptTokens), "prompt_tokens_total",
			"Tokens of prompts that were evaluated."},
		{counter, float64(d.NewTokens), "generation_tokens_total", "New tokens."},
		{counter, float64(d.PrefixQueries), "prefix_cache_queries_total",
			"Tokens of prompts that were looked for in the cache."},
		{counter, float64(d.PrefixHits), "prefix_cache_hits_total",
			"Of these, tokens that needed no evaluation."},
	} {
		to <- prometheus.MustNewConstMetric(desc(x.name, x.help), x.kind, x.value)
	}
	buckets, steps := map[float64]uint64{}, uint64(0) // vLLM's
	for k, size := range batch.StepSizes {
		steps += uint64(d.StepsOf[k])
		buckets[float64(size)] = steps
	}
	to <- prometheus.MustNewConstHistogram(desc("iteration_tokens_total",
		"Tokens that a step of the batch evaluated."), uint64(d.Steps), float64(d.Rows), buckets)
}
