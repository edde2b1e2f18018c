package bench

// A row of a table of models: texts that are written greedily, alone and side by side, and a
// prompt.

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"picogpt/batch"
	"picogpt/decode"
	"picogpt/model"
)

// TableOptions say what to measure of a model. Texts and prompts are shorter where the model's
// context is.
type TableOptions struct {
	Sessions     []int // texts side by side
	PromptTokens int
	GenTokens    int // of each text
	Rounds       int
}

// A TableRow is one model in one number format. Times are medians over rounds.
type TableRow struct {
	Model    string      `json:"model"`
	DType    string      `json:"dtype"`
	Kernel   string      `json:"kernel"`
	ReadGBps float64     `json:"read_gbps"` // the device's limit; 0 for the processor
	Texts    []TableText `json:"texts"`
	Prompt   TablePrompt `json:"prompt"`
}

// TableText is the speed of texts that are written side by side.
type TableText struct {
	Sessions     int     `json:"sessions"`
	TokensPerSec float64 `json:"tokens_per_s"` // of all of them
	// of the device's bandwidth that weights take, each read once for a step; 0 for the processor
	Share float64 `json:"share"`
}

// TablePrompt is the time to the first token of a prompt.
type TablePrompt struct {
	Tokens int     `json:"tokens"`
	MS     float64 `json:"ms"`
}

// MeasureRow measures a model.
func MeasureRow(ctx context.Context, m *model.Model, o TableOptions) (*TableRow, error) {
	c := m.Config()
	if c.Positions < 2 {
		return nil, fmt.Errorf("n_positions: %d, want at least 2 to measure texts", c.Positions)
	}
	r := &TableRow{DType: m.Format(), Kernel: m.Kernel()}
	read, _, err := m.DeviceLimits(ctx)
	if err != nil {
		return nil, err
	}
	r.ReadGBps = read / 1e9
	tokens := min(o.GenTokens, c.Positions-1)
	if _, err := textsSideBySide(ctx, m, 1, min(tokens, 8)); err != nil { // warms up
		return nil, err
	}
	for _, n := range o.Sessions {
		var times []float64
		for range o.Rounds {
			took, err := textsSideBySide(ctx, m, n, tokens)
			if err != nil {
				return nil, err
			}
			times = append(times, took)
		}
		t := TableText{Sessions: n, TokensPerSec: float64(n*tokens) / median(times)}
		if read > 0 {
			t.Share = float64(m.Bytes()) * t.TokensPerSec / float64(n) / read
		}
		r.Texts = append(r.Texts, t)
	}
	r.Prompt.Tokens = min(o.PromptTokens, c.Positions)
	var times []float64
	for range o.Rounds {
		took, err := firstToken(ctx, m, r.Prompt.Tokens)
		if err != nil {
			return nil, err
		}
		times = append(times, took)
	}
	r.Prompt.MS = median(times) * 1e3
	return r, nil
}

// textsSideBySide returns the seconds that n greedy texts take.
func textsSideBySide(ctx context.Context, m *model.Model, n, tokens int) (float64, error) {
	b := batch.New(m, batch.Options{MaxStreams: n})
	defer b.Close()
	errs := make([]error, n)
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			o := decode.Options{MaxTokens: tokens, EndOfText: []int{}}
			for _, err := range b.Generate(ctx, []int{i % m.Config().VocabSize}, o) {
				errs[i] = err
			}
		})
	}
	wg.Wait()
	took := time.Since(start).Seconds()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return took, nil
}

// firstToken returns the seconds from a prompt to its likeliest continuation.
func firstToken(ctx context.Context, m *model.Model, tokens int) (float64, error) {
	prompt := make([]int, tokens)
	for i := range prompt {
		prompt[i] = (i*7919 + 11) % m.Config().VocabSize
	}
	s := m.NewSession()
	defer s.Release()
	start := time.Now()
	err := m.Eval(ctx, model.Input{Session: s, Tokens: prompt, NoLogits: true, Best: 1,
		VisitFrom: tokens - 1, Visit: func(model.Row) {}})
	return time.Since(start).Seconds(), err
}

// Print prints the row, a line for each number of texts, in columns that tabs end.
func (r *TableRow) Print(t io.Writer) {
	format, read, prompt := r.DType, "", fmt.Sprintf("%.1f ms", r.Prompt.MS)
	if r.ReadGBps > 0 {
		read = fmt.Sprintf("%.0f GB/s", r.ReadGBps)
	}
	for _, s := range r.Texts {
		share := ""
		if s.Share > 0 {
			share = fmt.Sprintf("%.2f", s.Share)
		}
		fmt.Fprintf(t, "  %s\t%s\t%d\t%.0f\t%s\t%s\n", format, read, s.Sessions, s.TokensPerSec,
			share, prompt)
		format, read, prompt = "", "", ""
	}
}
