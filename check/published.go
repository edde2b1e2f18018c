package check

// What others have published of known checkpoints, to be measured again.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"picogpt/eval"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/tokenizer"
)

// A Publication is what others have published of one checkpoint.
type Publication struct {
	Name string // on the Hugging Face hub

	// The checkpoint is known by the sizes of its config. A model that was trained further has the
	// same sizes, and other numbers.
	Vocab, Positions, Embd, Layer, Head int

	Claims []Claim
}

// A Claim is one number, or one text.
type Claim struct {
	What   string
	By     string // who published it
	Kind   Kind
	Text   KnownText // that is measured; of a Continuation, the prompt is Prompt
	Prompt string
	Stride int    // of a Perplexity
	Want   string // as it was printed; a number is right to its last digit
}

// A Kind says what a Claim is about.
type Kind string

// The kinds of claims.
const (
	Continuation    Kind = "continuation"     // 40 greedy tokens, line feeds at the end aside
	Perplexity      Kind = "perplexity"       // Hugging Face's windows and joined lines of WikiText
	WordPerplexity  Kind = "word perplexity"  // lm-eval's, WikiText's pages detokenized as there
	LastWord        Kind = "last word"        // the perplexity of lm-eval's lambada_openai
	LastWordPercent Kind = "last word, right" // and its accuracy in percent
)

// A KnownText is a text that the program does not hold: it is known by its bytes.
type KnownText struct {
	Name   string
	SHA256 string // of the file, in hexadecimal
	From   string // where it is
}

// The texts of the table.
var (
	wikiText = KnownText{"WikiText-2's raw test",
		"173c87a53759e0201f33e0ccf978e510c2042d7f2cb78229d9a50d79b9e7dd08",
		"wiki.test.raw in https://huggingface.co/datasets/ggml-org/ci/resolve/main/" +
			"wikitext-2-raw-v1.zip"}
	lambada = KnownText{"OpenAI's LAMBADA test",
		"4aa8d02cd17c719165fc8a7887fddd641f43fcafa4b1c806ca8abc31fabdb226",
		"https://openaipublic.blob.core.windows.net/gpt-2/data/lambada_test.jsonl"}
)

// Publications is the table of what was published of GPT-2, in float32.
func Publications() []Publication {
	const (
		huggingFace = "Hugging Face, perplexity of fixed-length models"
		harness     = "EleutherAI, lm-evaluation-harness"
	)
	strided := func(stride int, want string) Claim {
		return Claim{What: fmt.Sprintf("WikiText-2, hf, stride %d", stride), By: huggingFace,
			Kind: Perplexity, Text: wikiText, Stride: stride, Want: want}
	}
	lastWord := Claim{What: "LAMBADA, perplexity", By: harness, Kind: LastWord, Text: lambada}
	small, xl, right := lastWord, lastWord, lastWord
	small.Want, xl.Want = "40.06", "10.63"
	right.What, right.Kind, right.Want = "LAMBADA, % right", LastWordPercent, "32.56"
	return []Publication{
		{"openai-community/gpt2", 50257, 1024, 768, 12, 12, []Claim{
			{What: "greedy, 40 tokens", By: "picoGPT's README", Kind: Continuation,
				Prompt: "Alan Turing theorized that computers would one day become",
				Want: " the most powerful machines on the planet.\n\nThe computer is a machine " +
					"that can perform complex calculations, and it can perform these " +
					"calculations in a way that is very similar to the human brain."},
			strided(1024, "29.94"),
			{What: "WikiText-2, lm-eval, a word", By: harness, Kind: WordPerplexity,
				Text: wikiText, Want: "37.37"},
			small, right,
		}},
		{"openai-community/gpt2-large", 50257, 1024, 1280, 36, 20,
			[]Claim{strided(1024, "19.44"), strided(512, "16.44")}},
		{"openai-community/gpt2-xl", 50257, 1024, 1600, 48, 25, []Claim{xl}},
	}
}

// Find returns the publication of a config, nil if the table has none.
func Find(table []Publication, c model.Config) *Publication {
	i := slices.IndexFunc(table, func(p Publication) bool {
		return p.Vocab == c.VocabSize && p.Positions == c.Positions && p.Embd == c.Embd &&
			p.Layer == c.Layer && p.Head == c.Head
	})
	if i < 0 {
		return nil
	}
	return &table[i]
}

// Known returns the text of the publication that a file is, and false if it is none of them.
func (p *Publication) Known(file string) (KnownText, bool) {
	sum := sha256.Sum256([]byte(file))
	digest := hex.EncodeToString(sum[:])
	for _, claim := range p.Claims {
		if claim.Text.SHA256 == digest {
			return claim.Text, true
		}
	}
	return KnownText{}, false
}

// Texts returns the texts that the claims are about.
func (p *Publication) Texts() (all []KnownText) {
	for _, claim := range p.Claims {
		if claim.Kind != Continuation && !slices.Contains(all, claim.Text) {
			all = append(all, claim.Text)
		}
	}
	return all
}

// Compare measures what was published again, on the texts among files. Claims about other texts are
// rows that say where the text is. A number that differs is a fault in f32; in other formats, whose
// numbers nobody has published, it is a loss. With an error, such as the context's, it returns the
// rows before it too.
func (p *Publication) Compare(
	ctx context.Context, m *model.Model, tok *tokenizer.Tokenizer, files []string,
	progress func(what string, share float64),
) (*Report, error) {
	r := &Report{DType: m.Format(), Cache: m.CacheFormat(), Kernel: m.Kernel(), Published: p.Name,
		Notes: []string{}}
	given := map[KnownText]string{}
	for _, file := range files {
		if text, ok := p.Known(file); ok {
			given[text] = file
		}
	}
	again := measuring{ctx: ctx, m: m, tok: tok, progress: progress}
	for _, claim := range p.Claims {
		file, ok := given[claim.Text]
		if !ok && claim.Kind != Continuation {
			r.add(Row{What: claim.What, Compared: "published " + claim.Want, Verdict: NotCompared,
				Where: "needs " + claim.Text.Name})
			note := fmt.Sprintf("%s is not given: %s", claim.Text.Name, claim.Text.From)
			if !slices.Contains(r.Notes, note) {
				r.Notes = append(r.Notes, note)
			}
			continue
		}
		row, err := again.claim(claim, file)
		if err != nil {
			return r, fmt.Errorf("%s: %w", claim.What, err)
		}
		if row.Verdict == Fault && (r.DType != "f32" || r.Cache != "f32") {
			row.Verdict = Loss
		}
		r.add(row)
	}
	if !r.Agree {
		r.Notes = append(r.Notes, "the config is that of "+p.Name+
			": a model that was trained further has the same, and other numbers")
	}
	return r, nil
}

// measuring measures claims.
type measuring struct {
	ctx      context.Context
	m        *model.Model
	tok      *tokenizer.Tokenizer
	progress func(what string, share float64)
	lambada  *eval.LambadaResult // once for two claims
}

func (a *measuring) claim(c Claim, file string) (Row, error) {
	row := Row{What: c.What, Verdict: Same, Where: c.By, Count: 1}
	if c.Kind == Continuation {
		got, err := a.continuation(c.Prompt)
		row.Compared = quote.Short(got, 40)
		if got != c.Want {
			row.Verdict = Fault
			row.Where = fmt.Sprintf("%s has %s", c.By, differs(c.Want, got))
		}
		return row, err
	}
	got, err := a.number(c, file)
	if err != nil {
		return row, err
	}
	want, err := eval.ParseExpectation(c.Want)
	row.Compared = fmt.Sprintf("%.6g, published %s", got, c.Want)
	row.Engine, row.Reference = got, want.Perplexity
	row.Difference, row.Bound = max(got-want.Perplexity, want.Perplexity-got), want.Tolerance
	if want.Check(got) != nil {
		row.Verdict = Fault
	}
	return row, err
}

// differs shows two texts where they begin to differ.
func differs(want, got string) string {
	n := 0
	for n < min(len(want), len(got)) && want[n] == got[n] {
		n++
	}
	n = max(0, n-10)
	return fmt.Sprintf("%s, here is %s", quote.Short(want[n:], 40), quote.Short(got[n:], 40))
}

func (a *measuring) continuation(prompt string) (string, error) {
	a.say("continuing", 0)
	ids, err := a.tok.Encode(prompt)
	if err != nil {
		return "", err
	}
	all, _, err := evaluate(a.ctx, a.m, ids, len(ids), 40)
	if err != nil {
		return "", err
	}
	text, err := a.tok.Decode(all[len(ids):])
	return strings.TrimRight(text, "\n"), err
}

func (a *measuring) number(c Claim, file string) (float64, error) {
	switch c.Kind {
	case Perplexity, WordPerplexity:
		o := eval.Options{Protocol: eval.HF, Stride: c.Stride, Progress: func(p eval.Progress) {
			a.say(c.What, float64(p.Done)/float64(p.Total))
		}}
		if c.Kind == WordPerplexity {
			o.Protocol = eval.LMEval
		}
		text, err := eval.NewWikiText(o.Protocol, a.tok, file)
		if err != nil {
			return 0, err
		}
		r, err := eval.Measure(a.ctx, a.m, text, o)
		if c.Kind == WordPerplexity {
			return r.WordPerplexity, err
		}
		return r.Perplexity, err
	}
	if a.lambada == nil {
		texts, err := lambadaTexts(file)
		if err != nil {
			return 0, err
		}
		r, err := eval.Lambada(a.ctx, a.m, a.tok, slices.Values(texts), eval.TaskOptions{
			Progress: func(done int) { a.say(c.What, float64(done)/float64(len(texts))) }})
		if err != nil {
			return 0, err
		}
		a.lambada = &r
	}
	if c.Kind == LastWordPercent {
		return 100 * a.lambada.Accuracy.Value, nil
	}
	return a.lambada.Perplexity, nil
}

// lambadaTexts are the texts of OpenAI's file, an object a line.
func lambadaTexts(file string) (texts []string, err error) {
	for line := range strings.Lines(file) {
		var o struct{ Text string }
		if err := json.Unmarshal([]byte(line), &o); err != nil {
			return nil, fmt.Errorf("line %d: %w", len(texts)+1, err)
		}
		texts = append(texts, o.Text)
	}
	return texts, nil
}

func (a *measuring) say(what string, share float64) {
	if a.progress != nil {
		a.progress(what, share)
	}
}
