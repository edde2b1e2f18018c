package main

// The help of gpt generate: its page, and the topics that its other flags are in.

import (
	"picogpt/internal/cli"
	"picogpt/internal/option"
)

const generateHelp = `
The prompt is TEXT, the text of a file (-f), or both; else what comes through a pipe; else there is
none, and the model begins from nothing. The output is the prompt, the new text and a newline;
several texts are separated by a line ---.

  gpt "Once upon a time"
  gpt --temp 0 -n 20 "The dog was very"
  gpt -m ~/models/gpt2 -f notes.txt --no-display-prompt
  gpt --seed 1 --samples 3 --stop $'\n' "Lily said"
`

// topics are the pages of gpt help that have more of the flags of gpt generate.
var topics = []cli.Topic{
	{
		Name: "sampling", Short: "more filters, repetition, single tokens",
		Groups: []string{option.Filters, option.Repetition, option.Wanted},
		Long: `
A token is chosen in this order: guidance, biases, penalties, DRY, n-grams, --min-tokens,
--length-decay, temperature, then the filters top-n-sigma, top-h, top-k, top-p, min-p, typical,
epsilon, eta and XTC, each of what the one before left, and one draw. --samplers llama.cpp filters
as llama.cpp does, with the temperature last; its defaults are not taken over. --samplers LIST
applies, of penalties, DRY, n-grams, the temperature and the filters, only those that are listed.
--mirostat takes the place of all filters. gpt next shows what each of them leaves.

With --ban S the text goes back to the token in which S began and takes another one there; tokens
that may begin S come only when that is decided. --guidance G adds to the logarithm of a token's
probability G-1 times what it is more than after --negative TEXT and the same new tokens.

  gpt --temp 1.2 --top-k 0 --min-p 0.05 --dry-multiplier 0.8 "The old house"
  gpt --ban ' Lily' --ban ' Tim' -n 40 "There was a girl named"`,
	},
	{
		Name: "forms", Short: "texts that fit a choice, a regex, a JSON Schema, a grammar",
		Groups: []string{"A form for the text:"},
		Long: `
--choice, --regex, --json-schema and --grammar make the new text fit a form: tokens after which it
could not are never chosen, and the text ends where the form allows it and the model does, by any of
the tokens of --eos; with --eos none it ends where nothing can follow. It may end before that by
--max-tokens or the end of the context; finish_reason is then length. Under --json-schema a property
follows the order of properties in the schema. A keyword that restricts and that gpt does not follow
(contains, unevaluatedProperties, ...) is an error; a format that nobody defines is told on stderr,
and is an error with --json-strict.

A form that is followed token by token favours texts that begin with a likely token, whatever has to
follow. --exact draws whole texts as likely as the same flags make them without the form, given that
they are of it; such a text ends by itself, and not by --max-tokens or the context. It draws until a
text fits, and never again what was found shut; --max-draws bounds that.

  gpt --choices yes,no "Was Lily happy? The answer is "
  gpt --json-schema person.json "Lily as JSON: "`,
	},
	{
		Name: "search", Short: "beams, contrastive search; guesses that make texts faster",
		Groups: []string{option.Searches, option.Guessing},
		Long: `
--beams N searches for a likely text: N beams, which are texts that begin alike, go on side by side,
and of all their continuations the N best go on. The score of a text is the sum of the
log-probabilities of its new tokens, the one that ends it too, divided by their number to the power
of --length-penalty: 1 is their mean, 0 their sum, and more than 1 favours long texts. --return K
prints the K best texts, the best first, when the search is over; as in Hugging Face's transformers
each is other tokens, and two may spell the same text. With --temp T the tokens of the beams are
drawn, and --top-k, --top-p and --min-p apply; else nothing is random. --beam-groups G divides the
beams into G groups that each search for themselves, and --diversity D lowers the log-probability of
a token by D for each beam of an earlier group that has just taken it.

--contrastive ALPHA takes, of the --top-k likeliest tokens (4 unless given), the one with the
greatest (1 - ALPHA) times its probability, minus ALPHA times its likeness to the most alike token
before it: a cosine of the model's hidden states. 0 is greedy, 0.6 is usual. In JSON scores has that
number for each of ids, and score is their sum.

--lookup and --draft make a text faster where the next tokens can be guessed: guesses are evaluated
together with the text, and stay if they are what is chosen anyway. The text is byte for byte the
one without, sampled too, whatever the other flags are. --lookup N guesses that what followed the
newest tokens when they occurred before follows again: for a text that repeats parts of its prompt,
such as an edit or a summary. --draft DIR lets a smaller model of the same vocabulary guess, --draft
q8 or q4 the same model in fewer bits. How many tokens are guessed at a time follows from how often
guesses are right and how long they take; where they do not pay, they end. -v says how many were
right.

  gpt --beams 4 --return 2 --output json -n 30 "One day, a little girl"
  gpt --contrastive 0.6 -n 60 "Once upon a time"
  gpt -m ~/models/gpt2-xl --draft ~/models/gpt2 -n 200 "The end"`,
	},
	{
		Name: "prompts", Short: "where prompts come from; many prompts",
		Groups: []string{otherPrompts},
		Long: `
The prompt is TEXT, or the text of a file (-f FILE; -f - is stdin). Given both, the prompt is the
file, a newline unless the file ends in one, and TEXT. Given neither, a text that comes through a
pipe is the prompt; on a terminal there is none, and the model begins from <|endoftext|>. Every byte
counts, a newline at the end too. The output repeats a prompt of up to 16 MiB before each text; a
longer one is printed while it is read, before the first text only.

The first word is a command where it is the name of one. So that a misspelt command is an error, a
first word of lower-case letters, digits and hyphens alone is a prompt only where no other word
follows and it is not nearly a command's name: hi is a prompt, serev and "once upon" without quotes
are not. After generate, after -p and after -- any word is a prompt.

A prompt that ends inside a word, or in a space, seldom goes on as it should: its last tokens are
not those of the whole word. --heal takes them back, as far as one longer token could begin there,
and the new text begins with their bytes. Stop and banned strings may begin in these bytes, and a
form, as of --choice, begins after them. What is printed is the same text, but a better one.

--prompts FILE writes texts for many prompts side by side. FILE is in one of the forms that gpt score
reads, plain or compressed: objects on lines, with prompt (a text) or tokens (ids, which need no
tokenizer), and if you like id, which comes back, and seed; a table with such columns; or lines, each
a prompt. --text-field names another field or column. Without a seed of its own, line i has S+i-1. The objects are those of --output json with line and id
before them, in the order of the lines; a prompt that cannot be continued gives an object with line,
id and error, a message on stderr, and in the end the exit status 1. With --out, FILE.resume
remembers what --resume needs: continued after any interruption, the file ends as an uninterrupted
run would leave it.

--session FILE keeps what the model has read and written, its keys and values too, so that a prompt
that begins like an earlier one is not computed again: the tokens that prompt and FILE begin with in
common are read from it, which takes less than a tenth of the time. The text is the one without
--session. FILE is replaced when the text is written, also after Ctrl-C; --session-read-only leaves
it as it is, for a beginning that many prompts share. What was damaged, or made with another model,
number format or version, is computed anew, and a line on stderr says so. FILE gives the text away,
so that only you may read it, and 124M takes 74 kB a token.

  cat notes.txt | gpt -f - "In short:"
  gpt --heal --temp 0 -n 5 "The little gi"
  gpt --prompts prompts.jsonl -n 50 --seed 1 -o texts.jsonl
  gpt --session notes.session -f notes.txt "In short:"`,
	},
	{
		Name: "output", Short: "JSON, ids, tokens as they come; receipts",
		Groups: []string{option.Output},
		Long: `
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
open	under a form, of each of ids the probability that the model gives to all tokens
	together that the form left open there: where it is small, the form decided
score	of a search only: see gpt help search
dropped	how many tokens --overflow dropped
finish_reason	end_of_text, stop, length or interrupted

With --output events each token is an object, printed as the token comes:

sample	the number of the text, from 0; several texts take turns
index	the number of the token in the text, from 0
id	the token; the one that ended the text has one too
text	what the text gains: nothing while a character or a stop string may be incomplete
logprob, top, open	as above, of this token
dropped	how many tokens --overflow dropped before it
finish_reason	on the last token of a text only; interrupted has no token

  echo -n "Tom and Sue" | gpt --output json -n 5
  gpt --receipt lily.json --seed 1 -n 40 "Lily said"`,
	},
	{
		Name: "inside", Short: "heads switched off, tokens hidden, control vectors",
		Groups: []string{editGroup},
		Long: `
These flags change what the model computes, for every token of every text; gpt chat, next, logits,
score and perplexity have them too. Layers and heads count from 0, and so do positions, which are
those of the whole text. A POINT is one of TransformerLens's names or a short one, such as
blocks.2.hook_mlp_out or mlp_out.2; mlp_out.* is that of every layer.

A control vector is a GGUF file with directions for layers from 1 on; the one of layer N is added to
the residual stream after it (blocks.N.hook_resid_post), of the prompt's tokens too. Several are
summed. gpt steer makes them, and so do llama.cpp's tools and repeng.

A receipt has the changes as values. A file of --session has no room for them, and a GPU makes none.

  gpt logits --ablate 3.1 --ablate mlp_out.0 --top 5 "The cat"
  gpt --steer happy.gguf:0.3@1-2 "Once upon a time"`,
	},
}
