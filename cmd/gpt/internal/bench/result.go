// Package bench measures a machine and the engine on it in one run: the read bandwidth and the FMA
// peak that the engine's own workers reach, and how near to them it decodes and prefills.
package bench

// A Result is one run. Times are medians over rounds; each ratio is the median over rounds of what
// was reached against the limit measured in the same round, since shared machines drift.
type Result struct {
	Model   string  `json:"model"`
	Layers  int     `json:"layers"`
	Width   int     `json:"width"`
	DType   string  `json:"dtype"`
	Cache   string  `json:"cache_dtype"`
	Threads int     `json:"threads"`
	Kernel  string  `json:"kernel"`
	Rounds  int     `json:"rounds"`
	Limits  Limits  `json:"limits"`
	Decode  Decode  `json:"decode"`
	Prefill Prefill `json:"prefill"`
	Batch   Batch   `json:"batch"`
	Context Context `json:"context"`
	Rows    Rows    `json:"rows"`
	Start   Start   `json:"start"`

	Choosing Choosing `json:"choosing"`

	// resident memory beyond mapped files, with one session of prompt and generated tokens
	RSSMB          float64 `json:"rss_mb"`
	MappedMB       float64 `json:"mapped_mb"`        // resident pages of mapped files
	AllocsPerToken float64 `json:"allocs_per_token"` // median
}

// Limits are what the machine does with nothing else to do.
type Limits struct {
	ReadGBps float64 `json:"read_gbps"` // 10⁹ bytes read from memory a second
	// 10⁹ float32 operations a second, two to each fused multiply-add
	FMAGFlops float64 `json:"fma_gflops"`
}

// Decode is one session, a token at a time from its beginning: Context says what a longer past
// costs.
type Decode struct {
	MSPerToken float64 `json:"ms_per_token"`
	GBPerToken float64 `json:"gb_per_token"` // weights read
	Ratio      float64 `json:"ratio"`        // of the read bandwidth
}

// Prefill is a prompt in one Eval, with the logits of its last position.
type Prefill struct {
	Tokens int     `json:"tokens"`
	MS     float64 `json:"ms"`
	// the operations that are done, over the time: 2·T·12·L·d² + 2·L·d·T·(T+1) + 2·V·d, without what
	// the processor saves in the last layer, 2·(T-1)·10·d² + 2·d·T·(T-1)
	GFlops float64 `json:"gflops"`
	Ratio  float64 `json:"ratio"` // of the FMA peak
}

// Batch is several sessions, a token of each in one Eval, from their beginning too.
type Batch struct {
	Sessions     int     `json:"sessions"`
	TokensPerSec float64 `json:"tokens_per_s"`
	Speedup      float64 `json:"speedup"` // against one session
}

// Context is decoding early and late. Models with less context are measured at At[1] = n_positions
// less a few.
type Context struct {
	At      [2]int  `json:"at"`
	MSAt50  float64 `json:"ms_at_50"`
	MSAt900 float64 `json:"ms_at_900"`
	Ratio   float64 `json:"ratio"`
}

// Rows are several rows of one session in one Eval, with logits for each, after At tokens. The
// lists have an entry for each number of rows that the context holds, beginning with 1.
type Rows struct {
	At    int       `json:"at"`
	Rows  []int     `json:"rows"`
	MS    []float64 `json:"ms"`
	Ratio []float64 `json:"ratio"` // to one row
}

// Choosing is a token from logits of the vocabulary, on one thread.
type Choosing struct {
	GreedyMS float64 `json:"greedy_ms"`
	TopKMS   float64 `json:"top_k_ms"` // top-k 40 with every other filter
	TopPMS   float64 `json:"top_p_ms"` // top-p alone
}

// Start is a process of its own, from exec to its first token, the file being in the page cache.
type Start struct {
	IDsMS  float64 `json:"ids_ms"`
	TextMS float64 `json:"text_ms,omitempty"` // a prompt of text: the tokenizer too
}
