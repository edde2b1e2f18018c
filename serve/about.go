package serve

// What the server tells of itself: whether it is there, its models and its API; and metrics for
// Prometheus, under vLLM's names, so that its dashboards and gateways work.

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"picogpt/batch"
	"picogpt/inside"
	"picogpt/internal/engine"
	"picogpt/serve/internal/openapi"
)

func health(v *visit) error {
	v.reply(http.StatusOK, []byte(`{"status":"ok"}`))
	return nil
}

// ready answers load balancers: 503 once the end has begun.
func (s *Server) ready(v *visit) error {
	if s.queue.draining.Load() || s.retired.Load() {
		return errDraining()
	}
	v.reply(http.StatusOK, []byte(`{"status":"ready"}`))
	return nil
}

// version answers as vLLM does.
func (s *Server) version(v *visit) error {
	says := map[string]string{"version": s.options.Version}
	if s.options.Build != "" {
		says["build"] = s.options.Build
	}
	return v.replyJSON(says)
}

// aModel is the JSON of a model, with OpenAI's and vLLM's fields.
type aModel struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len"`
	Root        string `json:"root,omitempty"`   // of a model with an adapter, the adapter
	Parent      string `json:"parent,omitempty"` // and the model

	// the fields whose defaults the checkpoint's generation_config.json gives
	Defaults map[string]any `json:"generation_config,omitempty"`

	Steer  []string `json:"steer,omitempty"`  // the control vectors that requests may name
	Inside bool     `json:"inside,omitempty"` // /inside answers, and edits are taken
}

func (s *Server) describe(id string) aModel {
	m := aModel{ID: id, Object: "model", Created: s.created.Unix(), OwnedBy: "picogpt"}
	if i := s.others.Find(id); i >= 0 {
		m.MaxModelLen = s.options.Models[i].Context
		return m
	}
	if adapter, _ := s.chosen(choosing{model: &id}); adapter > 0 {
		m.ID, m.Root, m.Parent = s.nameOf(adapter), s.options.Adapters[adapter-1].Name, s.options.Name
	}
	m.MaxModelLen, m.Defaults, m.Steer = s.model.Config().Positions, s.saved, s.steerings()
	m.Inside = !s.options.NoInside && s.canTrace() == nil
	return m
}

func (s *Server) models(v *visit) error {
	var all []aModel
	for _, id := range s.modelNames() {
		all = append(all, s.describe(id))
	}
	return v.replyJSON(modelList{"list", all})
}

type modelList struct {
	Object string   `json:"object"`
	Data   []aModel `json:"data"`
}

// modelPath is before the name of a model, which may have slashes, and oneModel the pattern of both.
const (
	modelPath = "/v1/models/"
	oneModel  = modelPath + "{id}"
)

func (s *Server) oneModel(v *visit) error {
	id := strings.TrimPrefix(v.request.URL.Path, modelPath)
	if s.others.Find(id) < 0 {
		if _, err := s.chosen(choosing{model: &id}); err != nil {
			return err
		}
	}
	return v.replyJSON(s.describe(id))
}

// replyJSON answers with the JSON of a value.
func (v *visit) replyJSON(value any) error {
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	v.reply(http.StatusOK, b)
	return nil
}

// onWire has values of the types that types stand for whose JSON they make themselves.
var onWire = map[reflect.Type][]any{
	reflect.TypeFor[choiceList]():     {[]choiceJSON{}},
	reflect.TypeFor[logProb]():        {new(float64)}, // or null
	reflect.TypeFor[scores]():         {logprobs{}, new(chatLogprobs)},
	reflect.TypeFor[likeliest]():      {new(map[string]logProb)},
	reflect.TypeFor[promptScore]():    {new(map[string]rankedToken)},
	reflect.TypeFor[idOrText]():       {new(int), ""},
	reflect.TypeFor[textOrNull]():     {new(string)},
	reflect.TypeFor[vector]():         {[]float64{}},
	reflect.TypeFor[source]():         {[]float64{}},
	reflect.TypeFor[inside.Parts]():   {map[string]float64{}},
	reflect.TypeFor[vectorOrBase64](): {vector{}, ""},
	reflect.TypeFor[idsOrPieces]():    {[]int{}, []piece{}},
	reflect.TypeFor[textOrBytes]():    {"", []int{}},
	reflect.TypeFor[jsontext.Value](): {new(any)},
}

// document returns the document of the API, in OpenAPI: what the tables of the paths read, and the
// types that are sent.
func (s *Server) document() []byte {
	d := openapi.Document{Title: "gpt serve", Version: s.options.Version,
		Description: "Lengths of strings are bytes of UTF-8. A field that is null is absent. Streams " +
			"are server-sent events, whose data has the schema; but the last is [DONE], if any is.",
		Types: openapi.Types{Named: map[string]openapi.Schema{}, Like: onWire}}
	of := func(value any) openapi.Schema { return d.Types.Of(reflect.TypeOf(value)) }
	if d.Error = of(errorAnswer{}); s.door.keys.wanted {
		d.Keys = []string{"bearer", "basic"}
	}
	for _, pattern := range slices.Sorted(maps.Keys(s.routes)) {
		r := s.routes[pattern]
		if r.gives == nil || r.refused {
			continue
		}
		o := openapi.Operation{Path: pattern, Method: r.method, Errors: s.failures(r), Open: r.open,
			Answers: map[string]openapi.Schema{"application/json": of(r.gives)}}
		if _, plain := r.gives.(string); plain {
			o.Answers = map[string]openapi.Schema{"text/plain": of("")}
		}
		if r.events != nil {
			o.Answers["text/event-stream"] = of(r.events)
		}
		if r.fields != nil {
			table := r.fields()
			new(choosing).addFields(s, table, new([]string))
			o.Body = schemaOf(table)
		}
		d.Operations = append(d.Operations, o)
	}
	return d.JSON()
}

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
