// Command gpt writes text with GPT-2 models.
//
//	gpt "Once upon a time"                 a story from the embedded demo model
//	gpt -m DIR "In a shocking finding,"    a checkpoint as Hugging Face stores it
//	gpt --help
//
// Each command is a struct with a method Run, in a file of its name or beside the command that is
// most like it; commands.go lists them, and help/ has their texts. What an engine does (--engine)
// is a method of the engine: see reference.go.
//
//	main, output                    the process, its streams and hints; colours, pages, arrays
//	commands                        the command line; pages of help, manual pages, completion
//	checkpoint, version, edits      what a command works on, what computes it, what it changes
//	prompt, rows                    one text, and files of many
//	generate, generateoptions, search, prompts, reference, receipt, chat
//	                                gpt generate: its run, and what its flags are for
//	serve, servestart               gpt serve: its flags, and its addresses and keys
//	check, choose, compress, eval, lens, models, next, patch, perplexity, score
//	                                several commands each, as the first line says
//
// Results go to stdout, everything else to stderr. The exit status is 0, 1 for a failure, 2 for
// usage, 130 for Ctrl-C and 143 for SIGTERM; where a reader closes stdout early, as head does, gpt
// ends quietly with 0.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"picogpt/checkpoint"
	"picogpt/checkpoint/hub"
	"picogpt/cmd/gpt/internal/checkpoints"
	"picogpt/cmd/gpt/internal/process"
	"picogpt/cmd/gpt/internal/terminal"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/folder"
	"picogpt/internal/option"
	"picogpt/internal/outfile"
	"picogpt/internal/quote"
	"picogpt/kernels"
	"picogpt/model"
)

func main() {
	a := newApp()
	os.Exit(a.report(run(a, os.Args[1:])))
}

// run does what the command line says.
func run(a *app, args []string) error {
	a.Watch(a.atSignal)
	line, err := parse(a, args)
	if err != nil {
		return err
	}
	defer a.close()
	if err = a.settleModel(line); err == nil {
		err = line.Run(line.Flags)
	}
	err = fault.First(err, a.stdout.Flush())
	if a.bareWord != "" && (err == nil || errors.Is(err, context.Canceled)) {
		a.Notef("%s is no command, so it was the prompt; gpt --help lists the commands",
			quoteShort(a.bareWord))
	}
	if err == nil {
		a.files.NoteStdinLeft()
	}
	return err
}

// usagef is an error of usage, which ends the process with status 2.
func usagef(format string, args ...any) error { return fault.Usagef(format, args...) }

// report prints an error in one line, and a hint in another, and returns the exit status.
func (a *app) report(err error) int {
	var usage fault.Usage
	switch {
	case err == nil, errors.Is(err, process.ErrClosedPipe):
		return 0
	case errors.Is(err, context.Canceled):
		return a.Status()
	}
	fmt.Fprintf(a.Stderr, "gpt: %s\n", quote.OneLine(err))
	if hint := cmp.Or(hintFor(err), a.Edits.hint(err)); hint != "" {
		fmt.Fprintf(a.Stderr, "gpt: hint: %s\n", hint)
	}
	if errors.As(err, &usage) {
		return 2
	}
	return 1
}

// The process: its streams, the global flags, and what signals do.

// globals are the flags of many commands.
type globals struct {
	Model      *string // nil: the embedded demo
	Adapters   []string
	Models     []string // in place of Model and Adapters, where several are served
	ModelBytes quote.Bytes
	Loras      []string
	LoraBytes  quote.Bytes
	Combine    string
	GELU       string
	Heads      int
	Threads    int
	Dtype      string
	CacheDtype string
	CacheBytes quote.Bytes
	Device     *string
	Engine     string
	CJKSpaces  *bool
	Verbose    bool
	Edits      editFlags
	Generation string // "none": its options are left

	isDemo bool // a flag, an argument or the environment says so

	// where several are served
	ownName  string  // of the first of Models, "" if it has none
	others   []named // of Models
	variants []named // of Loras; those without a name are Adapters
}

// A named is a model or an adapter with a name of its own.
type named struct{ name, path string }

// globalFlags are some of the global flags.
type globalFlags int

const (
	modelFlag globalFlags = 1 << iota
	adapterFlag
	geluFlag
	threads
	dtype
	cacheDtype
	cacheBytes
	device
	engineFlag
	cjkSpaces
	verbose
	edited           // see edits.go
	generationConfig // see generateoptions.go
	several          // models and adapters with names

	opens     = modelFlag | adapterFlag | geluFlag | verbose               // a checkpoint
	evaluates = opens | threads | dtype | cacheDtype | cacheBytes | device // texts
)

// modelGroup is the heading of the global flags.
const modelGroup = "Model:"

// flags adds the global flags that a command reads.
func (g *globals) flags(f *cli.Flags, which globalFlags) {
	f.Group(modelGroup)
	if which&several != 0 {
		which &^= modelFlag | adapterFlag
	}
	for _, flag := range []struct {
		is         globalFlags
		p          any
		spec, help string
		values     []string
	}{
		{modelFlag, &g.Model, "-m, --model DIR|FILE|NAME",
			`checkpoint: a file or a directory (safetensors, PyTorch, nanoGPT, GGUF, TensorFlow,
			llm.c), or the NAME or NAME@REV of a model that was pulled; default: $GPT_MODEL, or the
			embedded demo`, nil},
		{adapterFlag, &g.Adapters, "--adapter DIR|NAME",
			`adapter of PEFT, such as LoRA, also DIR:SCALE; may be repeated; without -m its base is
			the model`,
			nil},
		{several, &g.Models, "-m, --model DIR|FILE|NAME|NAME=DIR",
			`checkpoint: a file or a directory (safetensors, PyTorch, nanoGPT, GGUF, TensorFlow,
			llm.c), or the NAME or NAME@REV of a model that was pulled; default: $GPT_MODEL, or the
			embedded demo. More, each NAME=DIR, are loaded when a request names them`, nil},
		{several, &g.ModelBytes, "--model-bytes SIZE",
			`at most that much memory for the weights of the models beside the first, such as 2GB;
			default: no limit`, nil},
		{several, &g.Loras, "--adapter DIR|NAME|NAME=DIR",
			`LoRA adapter of PEFT, also DIR:SCALE; may be repeated; without -m its base is the
			model. As NAME=DIR[:SCALE] it is one that requests choose, by the model "MODEL:NAME" or
			in the field lora`, nil},
		{several, &g.LoraBytes, "--adapter-bytes SIZE",
			`at most that much memory for the weights that these adapters change, of which each has
			copies; default: no limit`, nil},
		{adapterFlag, &g.Combine, "--combine HOW",
			"add LoRA up by cat, svd, ties or another of PEFT's", nil},
		{geluFlag, &g.GELU, "--gelu FORM",
			`GELU: erf, or tanh for nanoGPT's of before May 2023, where no file says it; default:
			erf`,
			[]string{"tanh", "erf"}},
		{geluFlag, &g.Heads, "--n-head N", "attention heads, where no config says it", nil},
		{threads, &g.Threads, "-t, --threads N",
			"worker threads; default: 1 for each processor", nil},
		{dtype, &g.Dtype, "--dtype TYPE [auto]",
			"number format of the weights: auto (as in the file), f32, f16, bf16, q8 or q4",
			model.Formats()},
		{cacheDtype, &g.CacheDtype, "--cache-dtype TYPE [f32]",
			"keys and values are f32, f16 or q8", model.CacheFormats()},
		{cacheBytes, &g.CacheBytes, "--cache-bytes SIZE",
			"at most that much memory for keys and values, such as 512MiB; default: no limit", nil},
		{device, &g.Device, "--device NAME",
			`what computes: cpu, auto (the first GPU that gives the processor's bits), or a part of
			a name that gpt devices lists; default: $GPT_DEVICE, or cpu`, nil},
		{engineFlag, &g.Engine, "--engine NAME",
			"fast, or reference: picoGPT in float64, slow", []string{"fast", "reference"}},
		{cjkSpaces, &g.CJKSpaces, "--cjk-spaces",
			`keep WordPiece's spaces between Chinese characters; default: only gpt tokenize --decode
			does`, nil},
		{generationConfig, &g.Generation, "--generation-config HOW [auto]",
			`auto takes defaults from the checkpoint's generation_config.json, none takes none`,
			[]string{"auto", "none"}},
	} {
		if flag.is == generationConfig && which&edited != 0 { // help has it beside other options
			f.Group(option.Filters)
		}
		if which&flag.is != 0 {
			f.Add(flag.p, flag.spec, flag.help).OneOf(flag.values...)
		}
	}
	if which&edited != 0 {
		g.Edits.flags(f)
	}
	f.Group(cli.General)
	if which&verbose != 0 {
		f.Add(&g.Verbose, "-v, --verbose", "report on stderr what is used and how long it takes")
	}
}

// validate settles what the flags and the environment leave open.
func (g *globals) validate() error {
	if err := g.takeNames(); err != nil {
		return err
	}
	if g.Model != nil && *g.Model == "" {
		return usagef("--model: want a directory or a file, found nothing")
	}
	if path := os.Getenv("GPT_MODEL"); g.Model == nil && path != "" {
		g.Model = &path
	}
	g.useDemo()
	if g.Threads < 0 || g.Threads > kernels.MaxThreads {
		return usagef("--threads %d: want 0 to %d", g.Threads, kernels.MaxThreads)
	}
	if g.Heads < 0 || g.Heads > 1<<16 {
		return usagef("--n-head %d: want 1 to %d", g.Heads, 1<<16)
	}
	device, said, err := g.deviceName()
	if err == nil {
		err = g.Edits.check(device, said)
	}
	if err != nil {
		return err
	}
	if err := checkpoint.CheckCombination(g.Combine); err != nil {
		return usagef("--%v", err)
	}
	return checkpoints.CheckAdapters(g.Adapters)
}

// takeNames divides models and adapters by whether they have names.
func (g *globals) takeNames() error {
	for i, value := range g.Models {
		name, path := checkpoints.CutName(value)
		switch {
		case i == 0:
			g.Model, g.ownName = &path, name
		case name == "":
			return usagef("--model %s: want NAME=DIR for each but the first", quoteShort(value))
		default:
			g.others = append(g.others, named{name, path})
		}
	}
	for _, value := range g.Loras {
		if name, path := checkpoints.CutName(value); name != "" {
			g.variants = append(g.variants, named{name, path})
		} else {
			g.Adapters = append(g.Adapters, path)
		}
	}
	for _, n := range slices.Concat(g.others, g.variants) {
		if strings.Contains(n.name, ":") {
			return usagef("%s: want a name without a colon", quoteShort(n.name+"="+n.path))
		}
	}
	return checkpoints.CheckAdapters(g.variantPaths())
}

// variantPaths are the adapters that have names, without these.
func (g *globals) variantPaths() (all []string) {
	for _, n := range g.variants {
		all = append(all, n.path)
	}
	return all
}

// An app is what every command has.
type app struct {
	globals
	terminal.Console
	process.Signals
	files  textio.Files // that are read
	finder checkpoints.Finder

	opened  *checkpoint.Checkpoint // nil until open
	models  []*model.Model         // that openModel has opened
	noted   bool                   // what the vocabulary lacks
	strange sync.Once              // tells of a text that the vocabulary does not know
	garbage int                    // the percentage of it before readReference; 0: as it was
	chosen  chosenDevice
	stdout  *process.Output
	start   time.Time
	temps   outfile.Temps // of the files being written, removed when the process ends

	adapters []checkpoint.Adapter // that --adapter names
	choices  []checkpoint.Adapter // of variants
	baseOf   string               // the adapter whose base is the model, "" if it is named

	optionFiles optionFiles // that options name
	saved       []string    // options as flags, which generation_config.json gave
	rules       int         // what options mean: chat.Rules, or the version of what is read
	formNotes   []string    // of forms, that were told

	// uses reports whether the command itself uses a tensor that is not the decoder's; nil: none.
	// Others are told on stderr.
	uses func(name string) bool

	headless bool // whether the command does without logits, and the model without an output head

	chooses bool // whether the command chooses tokens, as a generation_config.json says how

	bareWord string // the prompt, where the name of a command may stand too; "" for others
}

func newApp() *app {
	a := &app{stdout: process.NewOutput(os.Stdout), start: time.Now(), rules: chat.Rules}
	a.Stderr, a.Program = quote.NewShown(os.Stderr), "gpt"
	// the defaults of all flags, also for commands that have only some
	cli.NewFlags(func(f *cli.Flags) { a.flags(f, ^globalFlags(0)) })
	a.files = textio.Files{Stdin: os.Stdin, Note: a.Notef}
	a.finder = checkpoints.Finder{
		Inputs: &a.files.Inputs, Notef: a.Notef, Logf: a.logf,
		UserAgent: "picogpt/" + versionName(),
	}
	return a
}

// atSignal is called before a signal ends the process.
func (a *app) atSignal() {
	a.EndProgress()
	a.temps.RemoveAll()
}

// logf writes a line to stderr if -v is given.
func (a *app) logf(format string, args ...any) {
	if a.Verbose {
		a.Notef(format, args...)
	}
}

// Hints: what a user may do about an error.

// hintFor returns the hint that an error carries, or one for its kind, or "".
func hintFor(err error) string {
	var template *chat.Error
	switch {
	case fault.HintOf(err) != "":
		return fault.HintOf(err)
	case errors.As(err, &template):
		return "the fields are .Text, .Turn and .Ended; the syntax is that of Go's text/template"
	case errors.Is(err, model.ErrCacheFull):
		return "--cache-bytes gives the cache more memory; " +
			"--cache-dtype f16 takes half of what f32 takes, q8 a quarter; shorter or fewer texts take less"
	case errors.Is(err, hub.ErrNoCache):
		return "HF_HOME or HF_HUB_CACHE names one, and so does a home folder"
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), "~/"):
		return checkpoints.TildeHint
	case errors.Is(err, fs.ErrNotExist) && strings.Contains(err.Error(), folder.Config) &&
		!strings.Contains(err.Error(), "put the model's config.json"): // it has a hint of its own
		return checkpoints.Hint
	}
	return ""
}

// overflowHint adds what --overflow and -n can do about a context that is too short.
func overflowHint(err error) error {
	var context *model.ContextError
	var long *textio.PromptTooLong
	var negative *decode.NegativeError
	switch {
	case !errors.As(err, &context) && !errors.As(err, &long):
		return err
	case errors.As(err, &negative):
		return fault.Hint(err, "--negative and the new tokens share a context of their own: a "+
			"shorter TEXT or a smaller -n fits; --overflow=slide drops the oldest tokens of TEXT")

	case context != nil && context.Held > 0 && context.Held <= context.Positions:
		fits := context.Positions - context.Held + 1
		return fault.Hint(err, fmt.Sprintf("-n %d fits; --overflow=truncate drops the oldest "+
			"tokens of the prompt, --overflow=slide writes on past the context's end", fits))
	}
	return fault.Hint(err,
		"--overflow=truncate and --overflow=slide drop the oldest tokens of the prompt")
}
