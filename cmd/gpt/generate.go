package main

// gpt generate: text that continues a prompt.

import (
	"context"
	"errors"
	"iter"
	"math"
	"math/rand/v2"
	"time"

	"github.com/alecthomas/kong"

	"picogpt/checkpoint"
	"picogpt/decode"
	"picogpt/model"
	"picogpt/tokenizer"
)

type generateCommand struct {
	Prompt generateSource `embed:""`

	MaxTokens     *int     `short:"n" placeholder:"N" group:"How much:" help:"write at most N new tokens; default: until the text ends or the context is full"`
	Samples       int      `placeholder:"N" default:"1" group:"How much:" help:"write N texts; text i, counted from 0, is what seed S+i gives alone"`
	Stop          []string `placeholder:"STRING" sep:"none" group:"How much:" help:"end the text before this string; the flag may be repeated"`
	Overflow      string   `placeholder:"HOW" default:"error" enum:"error,truncate,slide" group:"How much:" help:"what to do where the model's context is too small: error, truncate (drop the oldest tokens of the prompt) or slide (drop them later too, and write on without end)"`
	Temp          float64  `placeholder:"T" default:"0.8" aliases:"temperature" group:"Which tokens:" help:"temperature: 0 always takes the likeliest token, higher values give more variety"`
	TopK          int      `placeholder:"K" default:"40" group:"Which tokens:" help:"choose among the K likeliest tokens; 0 is no limit"`
	TopP          float64  `placeholder:"P" default:"1" group:"Which tokens:" help:"choose among the likeliest tokens that have the probability P together; 1 is no limit"`
	MinP          float64  `placeholder:"P" default:"0" group:"Which tokens:" help:"choose among tokens at least P times as likely as the likeliest; 0 is no limit"`
	RepeatPenalty float64  `placeholder:"R" default:"1" group:"Which tokens:" help:"values above 1 make tokens that occurred before less likely; 1 is off"`
	RepeatLastN   int      `placeholder:"N" default:"0" group:"Which tokens:" help:"how many of the last tokens the penalty looks at; 0 is all"`
	Seed          *uint64  `placeholder:"S" group:"Which tokens:" help:"the same seed gives the same text, on every machine; default: a random seed, which -v reports"`

	Heal     bool            `group:"How much:" help:"let the new text begin inside the prompt's last word: tokens at its end are taken back, as far as a longer token could begin there"`
	Filters  filterFlags     `embed:"" group:"More filters:"`
	Steering steering        `embed:""`
	Form     constraintFlags `embed:"" group:"A form for the text:"`
	Search   searchFlags     `embed:"" group:"Searches:"`
	Guess    guessFlags      `embed:"" group:"Guessing, for speed:"`

	Output          string `placeholder:"FORM" default:"auto" enum:"auto,text,ids,json,events" group:"Output:" help:"text, ids (an array for each text), json (an object for each text) or events (an object for each token, as it comes); auto is text, or ids where there is no tokenizer"`
	LogProbs        int    `name:"logprobs" placeholder:"N" default:"0" group:"Output:" help:"in json and events, the N likeliest tokens in place of each; default: none"`
	NoDisplayPrompt bool   `group:"Output:" help:"print the new text only, without the prompt"`

	Receipt receiptFlag `embed:""`

	Many promptsSource `embed:"" group:"Many prompts:"`
}

func (c *generateCommand) Help() string {
	return `The prompt is TEXT, or the text of a file (-f FILE; -f - is stdin). Given both, the prompt is the
file, a newline unless the file ends in one, and TEXT. Given neither, a text that comes through a
pipe is the prompt; on a terminal there is none, and the model begins from <|endoftext|>. Every byte
counts, a newline at the end too. The output repeats a prompt of up to 16 MiB before each text; a
longer one is printed while it is read, before the first text only.

A first word of lower-case letters, digits and hyphens alone is the name of a command, so that a
misspelt command is an error. After generate, after -p and after -- such a word is a prompt.

The output is the prompt, the new text and a newline. Several texts are separated by a line ---.
With --output json each text is an object on a line of its own:

sample	the number of the text, from 0
seed	the seed that gives this text alone
prompt_ids	the ids of the prompt, as given; of more than 1048576 the newest; without those
	that --heal took back
ids	the new ids, without the one that ended the text
text	the text of ids; null where the checkpoint has no tokenizer
logprobs	of each of ids, the natural logarithm of the probability that the model gave it,
	before temperature and the other choices
top	with --logprobs N, the N likeliest tokens in place of each of ids, the likeliest first,
	as objects with id, text and logprob
score	of a search only: see below
dropped	how many tokens --overflow dropped
finish_reason	end_of_text, stop, length or interrupted

With --output events each token is an object, printed as the token comes:

sample	the number of the text, from 0; several texts take turns
index	the number of the token in the text, from 0
id	the token; the one that ended the text has one too
text	what the text gains: nothing while a character or a stop string may be incomplete
logprob, top	as above, of this token
dropped	how many tokens --overflow dropped before it
finish_reason	on the last token of a text only; interrupted has no token

A token is chosen in this order: biases, guidance, penalties, DRY, n-grams, --min-tokens,
--length-decay, temperature, then the filters top-n-sigma, top-h, top-k, top-p, min-p, typical, epsilon,
eta and XTC, each of what the one before left, and one draw. --samplers llama.cpp filters as llama.cpp
does, with the temperature last; its defaults are not taken over. --samplers LIST applies, of penalties,
DRY, n-grams, the temperature and the filters, only those that are listed. --mirostat takes the place of
all filters. gpt next shows what each of them leaves.

With --ban S the text goes back to the token in which S began and takes another one there; tokens that
may begin S come only when that is decided. --guidance G adds to the logarithm of a token's probability
G-1 times what it is more than after --negative TEXT and the same new tokens.

--beams N searches for a likely text: N beams, which are texts that begin alike, go on side by side, and
of all their continuations the N best go on. The score of a text is the sum of the log-probabilities of
its new tokens, the one that ends it too, divided by their number to the power of --length-penalty: 1 is
their mean, 0 their sum, and more than 1 favours long texts. --return K prints the K best texts, the best
first, when the search is over. With --temp T the tokens of the beams are drawn, and --top-k, --top-p and
--min-p apply; else nothing is random. --beam-groups G divides the beams into G groups that each search
for themselves, and --diversity D lowers the log-probability of a token by D for each beam of an earlier
group that has just taken it.

--contrastive ALPHA takes, of the --top-k likeliest tokens (4 unless given), the one with the greatest
(1 - ALPHA) times its probability, minus ALPHA times its likeness to the most alike token before it: a
cosine of the model's hidden states. 0 is greedy, 0.6 is usual. In JSON scores has that number for each
of ids, and score is their sum.

A prompt that ends inside a word, or in a space, seldom goes on as it should: its last tokens are not
those of the whole word. --heal takes them back, as far as one longer token could begin there, and the new
text begins with their bytes. What is printed is the same text, but a better one.

--lookup and --draft make a text faster where the next tokens can be guessed: guesses are evaluated
together with the text, and stay if they are what is chosen anyway. The text is byte for byte the one
without, sampled too, whatever the other flags are. --lookup N guesses that what followed the newest
tokens when they occurred before follows again: for a text that repeats parts of its prompt, such as an
edit or a summary. --draft DIR lets a smaller model of the same vocabulary guess, --draft q8 or q4 the
same model in fewer bits. How many tokens are guessed at a time follows from how often guesses are right
and how long they take; where they do not pay, they end. -v says how many were right.

--choice, --regex, --json-schema and --grammar make the new text fit a form: tokens after which it could
not are never chosen, and the text ends where the form allows it and the model does. It may end before
that by --max-tokens or the end of the context; finish_reason is then length. Under --json-schema a
property follows the order of properties in the schema. A keyword that restricts and that gpt does not
follow (not, if, contains, uniqueItems, ...) is an error, and so is oneOf where two branches can both hold.

--prompts FILE writes texts for many prompts side by side. Each line of FILE is an object with prompt (a
text) or tokens (ids, which need no tokenizer), and if you like id, which comes back, and seed; line i has
the seed S+i-1 otherwise. The objects are those of --output json with line and id before them, in the
order of the lines; a prompt that cannot be continued gives an object with line, id and error, a message
on stderr, and in the end the exit status 1. With --out, FILE.resume remembers what --resume needs:
continued after any interruption, the file ends as an uninterrupted run would leave it.

Examples:

  gpt "Once upon a time"
  gpt --temp 0 -n 20 "The dog was very"
  gpt -m ~/models/gpt2 -f notes.txt --no-display-prompt
  gpt --seed 1 --samples 3 --stop $'\n' "Lily said"
  cat notes.txt | gpt -f - "In short:"
  echo -n "Tom and Sue" | gpt --output json -n 5
  gpt --beams 4 --return 2 --output json -n 30 "One day, a little girl"
  gpt --heal --temp 0 -n 5 "The little gi"
  gpt --temp 1.2 --top-k 0 --min-p 0.05 --dry-multiplier 0.8 "The old house"
  gpt --ban ' Lily' --ban ' Tim' -n 40 "There was a girl named"
  gpt --contrastive 0.6 -n 60 "Once upon a time"
  gpt --choices yes,no "Was Lily happy? The answer is "
  gpt --json-schema person.json "Lily as JSON: "
  gpt -m ~/models/gpt2-xl --draft ~/models/gpt2 -n 200 "The end"
  gpt --prompts prompts.jsonl -n 50 --seed 1 -o texts.jsonl`
}

// options checks the flags and makes decode's options of them. Vocabulary is left open.
func (c *generateCommand) options() (decode.Options, error) {
	o := decode.Options{
		Temperature: c.Temp, TopK: c.TopK, TopP: c.TopP, MinP: c.MinP,
		RepeatPenalty: c.RepeatPenalty, RepeatLastN: c.RepeatLastN,
		Stop: c.Stop, Overflow: decode.Overflow(c.Overflow), Top: c.LogProbs,
	}
	if c.TopP == 0 {
		// as in Hugging Face, one token stays; decode's 0 is off
		o.TopP = math.SmallestNonzeroFloat64
	}
	c.Filters.set(&o)
	if err := c.Steering.set(&o); err != nil {
		return o, err
	}
	if c.MaxTokens != nil {
		if *c.MaxTokens < 1 {
			return o, usagef("--max-tokens %d: want at least 1", *c.MaxTokens)
		}
		o.MaxTokens = *c.MaxTokens
	}
	if c.Samples < 1 {
		return o, usagef("--samples %d: want at least 1", c.Samples)
	}
	switch {
	case c.LogProbs < 0:
		return o, usagef("--logprobs %d: want 0 or more", c.LogProbs)
	case c.LogProbs > 0 && !c.writesJSON():
		return o, hinted{usagef("--logprobs: --output %s has no room for them", c.Output),
			"--output json and --output events have"}
	}
	for _, s := range c.Stop {
		if s == "" {
			return o, usagef("--stop: want at least one byte, found none")
		}
	}
	o.Seed = uint64(rand.Uint32()) // short enough to type
	if c.Seed != nil {
		o.Seed = *c.Seed
	}
	return o, checkSampling(o)
}

// writesJSON reports whether the output is objects.
func (c *generateCommand) writesJSON() bool {
	return c.Output == "json" || c.Output == "events" || c.Many.Prompts != nil
}

// settle checks the flags together, fills in what depends on others, and makes decode's options.
func (c *generateCommand) settle(k *kong.Context) (decode.Options, error) {
	if err := c.settleSearch(givenFlags(k)); err != nil {
		return decode.Options{}, err
	}
	o, err := c.options()
	if err == nil {
		err = c.Filters.checkListed(&o, givenFlags(k))
	}
	if err == nil {
		err = c.Search.check(o)
	}
	if err == nil {
		err = c.checkGuesses()
	}
	if err == nil {
		err = c.Form.check()
	}
	if form := c.Form.asked(); err == nil && c.Heal && form != "" {
		err = usagef("--heal and %s: want one of them", form)
	}
	return o, err
}

func (c *generateCommand) Run(a *app, k *kong.Context) error {
	o, err := c.settle(k)
	if err == nil {
		err = c.checkPrompts()
	}
	if err == nil {
		err = c.Receipt.check(a, c, givenOptions(k, recordable))
	}
	if err != nil {
		return err
	}
	if c.Many.Prompts != nil {
		return c.runPrompts(a, o)
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	defer m.Close()
	p, closePrompt, err := c.Prompt.open(a)
	if err != nil {
		return err
	}
	defer closePrompt()
	tok, err := c.vocabulary(a, &p, &o)
	if err == nil {
		err = c.openTexts(a, m, tok, &o)
	}
	if err != nil {
		return err
	}
	if p.asText {
		if err := c.readText(a, tok, m.Config().Positions, &p); err != nil {
			return err
		}
	}
	closeDraft, err := c.Guess.open(a, m, &o)
	if err != nil {
		return err
	}
	defer closeDraft()
	r := &receipt{PromptIDs: append([]int{}, p.ids...), Seed: o.Seed}
	r.Options = givenOptions(k, recordable)
	if err := c.healIfAsked(a, m, &p, &o); err != nil {
		return err
	}
	tokens, err := c.write(a, m, tok, p, o)
	if err != nil || c.Receipt.Receipt == nil {
		return err
	}
	if err := r.fill(a, m, p.ids, tokens); err != nil {
		return err
	}
	return c.Receipt.write(a, c, r)
}

// write writes the texts that follow a prompt. It returns their tokens if a receipt wants them.
func (c *generateCommand) write(
	a *app, m *model.Model, tok *tokenizer.Tokenizer, p prompt, o decode.Options,
) (all []decode.Token, err error) {
	scores := c.Search.newScores()
	print, err := c.printer(a, tok, p, o.Seed, scores)
	if err != nil {
		return nil, err
	}
	a.logf("seed: %d", o.Seed)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	incomplete := 0
	tokens := counted(c.texts(ctx, m, p.ids, o, scores), &incomplete)
	if c.Receipt.Receipt != nil {
		tokens = kept(tokens, &all)
	}
	t := timing{start: time.Now(), prompt: max(1, len(p.ids)), whole: c.Search.Beams != nil}
	err = a.stream(withDropped(tokens, p.dropped), cancel, &t, print)
	if incomplete > 0 {
		a.notef("%s: %s ended before it was complete", c.Form.asked(), count(incomplete, "text"))
	}
	return all, err
}

// texts are the tokens that follow a prompt.
func (c *generateCommand) texts(
	ctx context.Context, m *model.Model, prompt []int, o decode.Options, scores *searchScores,
) iter.Seq2[decode.Token, error] {
	s := m.NewSession()
	switch {
	case c.Search.Beams != nil:
		return c.Search.beams(ctx, s, prompt, o, scores)
	case c.Search.Contrastive != nil:
		return decode.Contrastive(ctx, s, prompt, *c.Search.Contrastive, o)
	case c.Samples > 1:
		return decode.Samples(ctx, s, prompt, c.Samples, o)
	}
	return decode.Generate(ctx, s, prompt, o)
}

// openTexts gives o what texts of the flags mean in the model's tokens. t is the tokenizer, if one is
// open.
func (c *generateCommand) openTexts(
	a *app, m *model.Model, t *tokenizer.Tokenizer, o *decode.Options,
) error {
	if err := c.Steering.open(a, t, o); err != nil {
		return err
	}
	return c.Form.open(a, m, t, o)
}

// needsText reports whether flags need the tokens' text, whatever the prompt and the output are.
func (c *generateCommand) needsText() bool {
	return len(c.Stop) > 0 || c.Form.asked() != "" || c.Steering.needsText() != ""
}

// vocabulary finds the tokenizer that the prompt and the output need, nil if ids will do, and gives
// o its vocabulary. The ids that may be drawn are those of the tokenizer in every form of output,
// so that the same seed draws the same.
func (c *generateCommand) vocabulary(
	a *app, p *prompt, o *decode.Options,
) (*tokenizer.Tokenizer, error) {
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	if c.Output == "ids" && !p.asText && !c.needsText() {
		size, gaps, err := ck.Vocabulary()
		if err == nil {
			o.Vocabulary = onlyIDs{size, gaps}
		}
		a.noteWithoutText(err)
		return nil, nil
	}
	tok, err := a.openTokenizer()
	switch {
	case err == nil:
		o.Vocabulary = tok
		return tok, nil
	case p.asText || c.Output == "text" || c.needsText():
		return nil, err
	}
	a.noteWithoutText(err)
	return nil, nil
}

// noteWithoutText says why there is no text, only ids. Where there is no tokenizer, that needs no
// word.
func (a *app) noteWithoutText(err error) {
	if err != nil && !errors.Is(err, checkpoint.ErrNoTokenizer) {
		a.notef("no text, only ids: %s", oneLine(err))
	}
}

// onlyIDs is a vocabulary of ids without text, for output in ids.
type onlyIDs struct {
	size int
	gaps []int
}

func (v onlyIDs) Size() int                                 { return v.size }
func (v onlyIDs) Gaps() []int                               { return v.gaps }
func (v onlyIDs) NewDecoder(before []int) tokenizer.Decoder { return v }
func (v onlyIDs) Push(int) (string, error)                  { return "", nil }
func (v onlyIDs) Flush() string                             { return "" }
func (v onlyIDs) Fork() tokenizer.Decoder                   { return v }

// stream prints texts as they come, in the order of the samples, then what was dropped and how long
// it took. Ctrl-C cancels once there is something to print; before, it just ends the process.
func (a *app) stream(
	tokens iter.Seq2[decode.Token, error], cancel context.CancelFunc, t *timing, p printer,
) (err error) {
	defer a.showProgress(t.label)()
	for token, failed := range tokens {
		if err = failed; err != nil {
			a.endProgress()
			err = errors.Join(p.interrupt(), overflowHint(err))
			break
		}
		if t.count(token) == 1 {
			a.setCancel(cancel)
			defer a.setCancel(nil)
			if p.streams() && a.stdout.terminal {
				a.endProgress()
			}
		}
		if err = p.token(token); err != nil {
			break
		}
	}
	a.endProgress()
	if !errors.Is(err, errClosedPipe) {
		t.log(a)
	}
	return err
}
