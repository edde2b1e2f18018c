package main

// The list of commands, what they and flags are called elsewhere, and parsing.

import (
	"slices"
	"strings"

	"picogpt/internal/cli"
)

// commands are the commands of gpt, in the order of its help.
func commands(a *app) *cli.Command {
	generate := newGenerate(a)
	root := &cli.Command{
		Name: "gpt", Short: "write text with GPT-2 models",
		Elsewhere: elsewhere(), Words: otherWords,
		Check:   func(*cli.Flags, []string) error { return a.validate() },
		Default: generate,
		Commands: []*cli.Command{
			generate, newChat(a), newServe(a), newVerify(a),
			newNext(a), newChoose(a), newTree(a), newLogits(a), newTrace(a), newSurprise(a),
			newLens(a), newAttention(a), newAttribute(a), newPatch(a), newSteer(a), newExplain(a),
			newTokenize(a),
			newPerplexity(a), newCompare(a), newScore(a), newEmbed(a), newClassify(a), newEval(a),
			newCheck(a), newBench(a),
			newCompress(a), newDecompress(a),
			newPull(a), newModels(a), newInspect(a), newQuantize(a), newConvert(a),
			newDevices(a), newVersion(a),
		},
	}
	root.Commands = append(root.Commands, newHelp(a, root), newCompletion(a, root))
	cli.New(root)
	explain(root)
	return root
}

// parse returns what a command line asks for.
func parse(a *app, args []string) (*cli.Line, error) {
	line, err := cli.Parse(commands(a), args)
	if line != nil && line.Other[0] != "" && !line.Help {
		a.noteOther(line.Other[0], line.Other[1])
	}
	switch {
	case err != nil:
		return nil, err
	case line.Help:
		line.Run = func(*cli.Flags) error { return a.printPage(line.Command.Help) }
	case line.Version:
		line.Run = func(*cli.Flags) error { return printVersion(a, false) }
	default:
		a.bareWord = line.Bare
	}
	return line, nil
}

// What flags and commands are called elsewhere: in transformers, llama.cpp, vLLM, Ollama, nanoGPT
// and OpenAI's API, and what people guess.

// otherNames are the flags of other programs, by what they mean here. Those of options are said in
// their table.
var otherNames = []cli.Elsewhere{
	{"--eos none", "ignore-eos"},
	{"--temp 0", "greedy no-sample deterministic argmax"},
	{"--heal", "token-healing"},
	{"--choice", "guided-choice"},
	{"--regex", "guided-regex pattern"},
	{"--json-schema", "guided-json schema json-schema-file response-format j"},
	{"--grammar", "guided-grammar grammar-file gbnf"},
	{"--draft", "md draft-model model-draft assistant-model speculative-model"},
	{"--no-display-prompt", "no-prompt no-echo hide-prompt"},
	{"--special", "special-tokens parse-special"},
	{"--tokens", "ids token-ids input-ids"},
	{"--prompt", "text start t-prompt"},
	{"--file", "input input-file prompt-file text-file in"},
	{"--prompts", "batch-file prompts-file"},
	{"--session", "prompt-cache prompt-cache-all prompt-cache-file session-file"},
	{"--session-read-only", "prompt-cache-ro"},
	{"--out", "output-file out-file outfile save"},
	{"--model", "model-path model-name model-name-or-path model-file model-dir ckpt checkpoint " +
		"weights init-from hf hfr hf-repo hf-file pretrained"},
	{"--steer FILE:SCALE", "control-vector control-vector-scaled steering-vector"},
	{"--steer FILE@FROM-TO", "control-vector-layer-range"},
	{"--adapter", "lora lora-scaled lora-path lora-modules enable-lora peft"},
	{"--threads", "num-threads n-threads num-thread cpus cores workers"},
	{"--dtype f16", "fp16 half float16"},
	{"--dtype q8", "int8 8bit load-in-8bit"},
	{"--dtype q4", "int4 4bit load-in-4bit"},
	{"--dtype", "quantization quantize quant torch-dtype type precision"},
	{"--device auto", "gpu cuda use-gpu use-cuda n-gpu-layers gpu-layers ngl mg main-gpu opencl"},
	{"--device cpu", "cpu no-gpu no-cuda"},
	{"--cache-dtype", "cache-type-k cache-type-v kv-cache-dtype ctk ctv cache-type"},
	{"--cors-origin", "allowed-origins allow-origins"},
	{"--cache-bytes", "gpu-memory-utilization cache-size kv-cache-size max-memory"},
	{"--verbose", "debug log-level loglevel stats timings"},
	{"--addr HOST:PORT", "listen bind address"},
	{"--model-name", "served-model-name alias"},
	{"--tls-cert", "ssl-certfile ssl-cert-file"},
	{"--tls-key", "ssl-keyfile ssl-key-file"},
	{"--max-streams", "parallel np max-num-seqs concurrency"},
	{"--window", "ctx-size n-ctx context-size context-length max-position"},
	{"--random", "shape"},
	{"--batch", "batch-size"},
	{"gpt chat", "interactive conversation chat i cnv"},
	{"gpt serve", "serve server"},
	{"gpt models", "list-models"},
	{"gpt pull NAME", "pull download"},
	{"gpt perplexity FILE", "perplexity ppl ppl-stride"},
	{"gpt eval lambada FILE", "tasks num-fewshot model-args log-samples"},
	{"gpt embed FILE", "embedding embeddings"},
	{"--version", "V"},
	{"gpt inspect", "info inspect"},
	{"the context is the model's own; --overflow slide writes on past its end",
		"ctx-size n-ctx c context context-size context-length num-ctx max-model-len"},
	{"the tokenizer is that of -m: its files lie beside the weights",
		"tokenizer tokenizer-name tokenizer-path vocab vocab-file"},
	{"tokens are drawn, but for --temp 0, which takes the likeliest", "do-sample sampling"},
	{"a text is written while it comes", "stream streaming no-stream"},
	{"a base model has no system prompt; what it is to read is the prompt",
		"system sys system-prompt"},
	{"the prompt stands before its text; --no-display-prompt omits it", "echo"},
	{"$'a\\nb' of the shell has a line break", "escape e"},
	{"no code of a checkpoint runs", "trust-remote-code"},
	{"there is no such flag here, and no need of one",
		"mmap no-mmap mlock flash-attn fa numa ubatch-size ub cont-batching cb enforce-eager " +
			"use-cache no-cache enable-prefix-caching tensor-parallel-size tp swap-space " +
			"max-num-batched-tokens jinja"},
	{"-v says more; without it only the text and what is wrong are written",
		"quiet q silent log-disable no-progress"},
}

// otherWords are the commands of other programs. One that gpt has runs, and so is no prompt. What
// would destroy something, and what only looks like a command of gpt, is explained.
var otherWords = []cli.Elsewhere{
	{"gpt generate", "run complete"},
	{"gpt serve", "server"},
	{"gpt perplexity", "ppl"},
	{"gpt tokenize", "encode"},
	{"gpt tokenize --decode", "detokenize decode"},
	{"gpt bench", "benchmark"},
	{"gpt eval", "evaluate"},
	{"gpt pull", "download"},
	{"gpt models list", "ls list"},
	{"gpt models rm", "rm"},
	{"gpt inspect", "show info"},
	{"models are removed by gpt models rm", "remove delete"},
	{"vectors of texts are made by gpt embed; what compares them is another program's",
		"search index query retrieve similar rag embedding embeddings"},
	{"nothing runs in the background; gpt serve ends by Ctrl-C or SIGTERM", "ps stop kill"},
	{"checkpoints are written by gpt convert and gpt quantize", "cp copy create"},
	{"models run here, and are not trained", "train finetune fine-tune"},
	{"nothing is uploaded; HF_TOKEN, or what hf auth login writes, is the token of gpt pull",
		"push upload login"},
}

// noteOther tells what a word of another program means here.
func (a *app) noteOther(means, word string) {
	switch {
	case means == "gpt generate":
		a.Notef("%s is %s here: the prompt is what follows it, and -m NAME names the model", word,
			means)
	case strings.Contains(word, " "):
		a.Notef("%s is %s here", word, means)
	default:
		a.Notef("%s is %s here; as a prompt: gpt generate %[1]s", word, means)
	}
}

// elsewhere are all flags of other programs, those of options before the others.
func elsewhere() []cli.Elsewhere {
	all := cli.OfOptions(new(generateCommand).table())
	for i, e := range all {
		all[i][0] = strings.Replace(e[0], "--max-tokens", "--max-tokens|--gen-tokens", 1)
	}
	return slices.Concat(all, otherNames)
}
