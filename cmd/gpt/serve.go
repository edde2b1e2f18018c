package main

// gpt serve: OpenAI's completions API over HTTP.

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/cmd/gpt/internal/listen"
	"picogpt/decode"
	"picogpt/internal/chat"
	"picogpt/internal/cli"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/serve"
	"picogpt/tokenizer"
)

type serveCommand struct {
	Addr       string
	Host       *string // in place of that of Addr
	Port       *int
	Metrics    *string
	ModelName  []string
	Template   *string
	ToolFormat string
	Pooling    string
	Steer      []string
	SAE        []string
	Inside     string
	Log        string
	Child      bool
	Who        whoFlags
	Much       muchFlags
}

func newServe(a *app) *cli.Command {
	c := &serveCommand{}
	return &cli.Command{
		Name: "serve", Group: "write",
		Short: "answer OpenAI's completions API, and show a page to try",
		Flags: func(f *cli.Flags) {
			f.Add(&c.Addr, "--addr HOST:PORT [127.0.0.1:8080]", `address to listen on; port 0 is any
				free one, and the first line on stderr tells which`)
			f.Add(&c.Host, "--host HOST", "the host of --addr alone: 0.0.0.0 is every network's")
			f.Add(&c.Port, "--port PORT", "the port of --addr alone")
			f.Add(&c.Metrics, "--metrics-addr HOST:PORT",
				`serve /metrics on this address too, without a key and nothing else: for Prometheus,
				on a network that clients do not reach`)
			f.Add(&c.ModelName, "--model-name NAME",
				`the model's id in requests, or one of several, of which answers have the first;
				default: the name of the checkpoint's folder, or demo`)
			f.Add(&c.Template, "--template NAME|FILE", `answer /v1/chat/completions with this
				template, as gpt chat has it: plain, alpaca, vicuna, chatml, dialogpt, none (refuse
				them), or a file in Jinja or in the syntax of Go's text/template; default: the
				checkpoint's own, else plain`)
			f.Add(&c.ToolFormat, "--tool-format FORM", `how answers have calls of tools: hermes
				(<tool_call>), mistral ([TOOL_CALLS]), llama, json ({"name": …}), or none, which
				leaves them in the text; default: as the chat template shows them`).
				OneOf("hermes", "mistral", "llama", "json", "none")
			f.Add(&c.Pooling, "--pooling HOW [mean]",
				`how /v1/embeddings makes one vector of those of a text's tokens: mean, weighted
				(the mean with weights 1, 2, 3, …), or last for that of the last token`).
				OneOf("mean", "weighted", "last")
			f.Add(&c.Steer, "--steer NAME=FILE[:SCALE][@LAYERS]",
				`a control vector (gpt steer makes one) that requests may name in the field steer;
				SCALE multiplies theirs; may be repeated`)
			f.Add(&c.SAE, "--sae NAME=DIR|RELEASE/HOOK", `a sparse autoencoder (gpt features says
				which) whose features requests may change in the field steer; may be repeated`)
			f.Add(&c.Inside, "--inside HOW [on]",
				`on: requests may ask what the model computes for a token, and edit it: /inside, the
				field edits, and a panel of the page; off: they are refused`).OneOf("on", "off")
			f.Add(&c.Log, "--log FORM [text]",
				`a line on stderr for each request: text (name=value), json or off; texts are never
				in it, and probes only with -v`).OneOf("text", "json", "off")
			f.Add(&c.Child, "--child", `for a program that starts the server: prints the address on
				stdout when the model is loaded, and ends as by SIGTERM when stdin does`)
			f.Group("Who may ask:")
			c.Who.flags(f)
			f.Group("How much:")
			c.Much.flags(f)
			a.flags(f, evaluates|cjkSpaces|generationConfig|several)
		},
		Settings: &cli.Settings{
			Prefix: "GPT_SERVE_", Read: listen.Read,
			Variables: map[string]string{
				"model": "GPT_MODEL", "device": "GPT_DEVICE", "api-key": "GPT_API_KEY",
			},
			Parts: map[string]string{"host": "addr", "port": "addr", "api-key": "api-key-file"},
		},
		Run:  func(f *cli.Flags) error { return c.Run(a, f) },
		Long: strings.Replace(helpText("serve"), "{FIELDS}", manyFields(), 1),
	}
}

// prefixBytes is the memory for prompts that may come again, where --cache-bytes says nothing.
const prefixBytes = 256 << 20

// whoFlags say who is let in, and how they are known.
type whoFlags struct {
	APIKey       []string
	APIKeyFile   *string
	TrustedProxy []string
	CORSOrigin   []string
	AllowHost    []string
	CacheShare   string
	TLSCert      *string
	TLSKey       *string
}

func (w *whoFlags) flags(f *cli.Flags) {
	f.Add(&w.APIKey, "--api-key KEY", `a request must have this key, or one of several, but on
		/health and /ready; default: $GPT_API_KEY, or none`).Secret = true
	f.Add(&w.APIKeyFile, "--api-key-file FILE",
		`a name and a key a line; # begins a comment. Each name has its turns and its share. The
		file is read again when it changes, and texts of keys that are gone end`)
	f.Add(&w.TrustedProxy, "--trusted-proxy CIDR",
		`behind proxies of this network, such as 10.0.0.0/8, the client is the last address of
		X-Forwarded-For outside it; the flag may be repeated`)
	f.Add(&w.CORSOrigin, "--cors-origin ORIGIN",
		`let the pages of this web origin use the server, such as https://example.org; null is that
		of a page from a file, * any; the flag may be repeated`)
	f.Add(&w.AllowHost, "--allow-host NAME",
		"on a loopback address, take requests for this host name too: a proxy's on this machine")
	f.Add(&w.CacheShare, "--cache-share WHO [key]",
		`who shares prompts that are evaluated already, and can find out by the time of an answer
		what others have asked: key, client or all; key without keys is client, or all on a loopback
		address`).OneOf(serve.ShareKey, serve.ShareClient, serve.ShareAll)
	f.Add(&w.TLSCert, "--tls-cert FILE", "serve HTTPS with this certificate, and --tls-key")
	f.Add(&w.TLSKey, "--tls-key FILE", "the private key of --tls-cert")
}

// muchFlags bound what the server takes on.
type muchFlags struct {
	MaxStreams int
	MaxDelay   time.Duration
	MaxQueue   int
	MaxWait    time.Duration
	MaxPrompts int
	MaxN       int
	MaxBody    quote.Bytes // negative: the default for the model
	Timeout    time.Duration
	Grace      time.Duration
	Drain      time.Duration
}

func (m *muchFlags) flags(f *cli.Flags) {
	f.Add(&m.MaxStreams, "--max-streams N [16]", "texts that are written side by side; others wait")
	f.Add(&m.MaxDelay, "--max-delay TIME [100ms]", `how long a token may wait while prompts of
		others are read; long prompts are read in parts`)
	f.Add(&m.MaxQueue, "--max-queue N [256]",
		"texts that wait at most; further requests get status 429")
	f.Add(&m.MaxWait, "--max-wait TIME [30s]", `how long a text may have to wait for its first
		token, by the tokens before it and those that were written a second lately; more get status
		429, and Retry-After says when to come; 0 is no bound`)
	f.Add(&m.MaxPrompts, "--max-prompts N [1024]", "prompts of one request at most")
	f.Add(&m.MaxN, "--max-n N [128]", "n and best_of of a request at most")
	m.MaxBody = -1
	f.Add(&m.MaxBody, "--max-body SIZE", `bytes of a request at most; default: 7 KiB for each token
		of the context, and at least 1 MiB`)
	f.Add(&m.Timeout, "--timeout TIME [10m]", "time of an answer at most; 0 is none")
	f.Add(&m.Grace, "--grace TIME [0s]", `after SIGTERM, time in which requests are still answered,
		while /ready is 503: until balancers send no more`)
	f.Add(&m.Drain, "--drain TIME [10s]",
		"then, time for what is being written; what is left after it ends with an error")
}

func (c *serveCommand) Run(a *app, f *cli.Flags) error {
	if f.PrintsConfig() {
		_, err := c.options(a)
		if err = cmp.Or(err, c.settleAddr()); err != nil {
			return err
		}
		return a.printText(f.Config())
	}
	show := a.Hold() // until the first line, which has the address
	defer show("")
	o, err := c.options(a)
	if err != nil {
		return err
	}
	var keys []string
	if c.Who.APIKeyFile != nil {
		if o.NamedKeys, keys, err = readKeys(*c.Who.APIKeyFile); err != nil {
			return err
		}
	}
	on, err := c.listen()
	if err != nil {
		return err
	}
	defer on.close()
	o.Loopback = on.api.Loopback
	gate := &serve.Gate{Log: o.Log}
	if on.metrics != nil {
		on.metrics.Start(gate.Metrics(on.metrics.Loopback))
	}
	running := on.api.Start(gate)
	a.uses = checkpoint.HeadTensor
	a.chooses, a.headless = true, true
	if _, err := a.takeSaved(option.Of(new(decode.Options)), nil); err != nil {
		return err
	}
	m, err := a.openModel()
	if err != nil {
		return err
	}
	if o.Models, err = c.otherModels(a, &o); err != nil {
		return err
	}
	s, err := c.newServer(a, m, &o)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, release := a.Graceful()
	defer release()
	gate.Open(s)
	told := c.announce(a, on, m, &o, show)
	if c.Who.APIKeyFile != nil {
		go watchKeys(ctx, *c.Who.APIKeyFile, keys, s, told)
	}
	if on.certificate != nil {
		go on.certificate.Watch(ctx, func(err error) {
			if err != nil {
				told.Error("the certificate is as before", "error", err.Error())
				return
			}
			told.Info("the certificate was read again")
		})
	}
	if c.Child {
		if err := a.printText(on.api.URL() + "\n"); err != nil {
			return err
		}
		ctx = untilEnd(ctx, a.files.Stdin)
	}
	late, err := running.Wait(ctx, listen.Ending{
		Grace: c.Much.Grace, Retire: s.Retire, Drain: c.Much.Drain, Refuse: s.Drain,
		Cut: func() { s.Close() },
	})
	if late {
		told.Warn("requests were cut off", "drain", c.Much.Drain.String())
	}
	return err
}

// untilEnd returns a context that is also done when a reader ends: the parent does, however it ends.
func untilEnd(ctx context.Context, parent io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		io.Copy(io.Discard, parent) // an error is an end too
	}()
	return ctx
}

// newServer makes the server of a model, and sets the options that follow from it.
func (c *serveCommand) newServer(a *app, m *model.Model, o *serve.Options) (*serve.Server, error) {
	t, err := a.openTokenizer()
	if err != nil {
		return nil, err
	}
	if err := c.setTemplate(a, t, o); err != nil {
		return nil, err
	}
	ck, err := a.open()
	if err != nil {
		return nil, err
	}
	if o.Head, err = ck.Head(); err != nil && !errors.Is(err, checkpoint.ErrNoHead) {
		a.Notef("%s; /classify is refused", quote.OneLine(err)) // texts need no head
	}
	weights, err := ck.Digest()
	if err != nil {
		return nil, err
	}
	texts, err := ck.TokenizerDigest()
	if err != nil {
		return nil, err
	}
	if o.Steer, err = c.vectors(a, m); err != nil {
		return nil, err
	}
	o.Fingerprint = serve.FingerprintOf(m, weights, texts, o.Steer...)
	if o.Adapters, err = c.adapters(a, m, func(adapter string) string {
		return serve.FingerprintOf(m, weights+" "+adapter, texts, o.Steer...)
	}); err != nil {
		return nil, err
	}
	if o.MaxBody = int64(c.Much.MaxBody); o.MaxBody < 0 {
		o.MaxBody = serve.DefaultMaxBody(m.Config().Positions)
	}
	o.Batcher.PrefixBytes = prefixBytes
	if a.CacheBytes > 0 { // the rest is for texts in progress
		o.Batcher.PrefixBytes = int64(a.CacheBytes) / 4 * 3
	}
	s, err := serve.New(m, t, *o)
	if err == nil && o.TemplateNote != "" {
		a.Notef("%s (--template none refuses them)", o.TemplateNote)
	}
	return s, err
}

// vectors reads the control vectors, and opens the dictionaries.
func (c *serveCommand) vectors(a *app, m *model.Model) (all []serve.Steering, err error) {
	for _, value := range c.SAE {
		name, dir, _ := strings.Cut(value, "=")
		d, err := a.dictionary(dir)
		if err != nil {
			return nil, err
		}
		r, err := a.readerOf(d, m)
		if err != nil {
			return nil, err
		}
		all = append(all, serve.Steering{Name: name, Dictionary: &serve.Dictionary{Model: m,
			Features: r.Features, Digest: r.Digest(), Edits: r.Edits}})
	}
	for _, value := range c.Steer {
		name, s, err := parseNamedSteer(value)
		if err != nil {
			return nil, err
		}
		v, err := a.readVector(&s, m.Config())
		if err != nil {
			return nil, err
		}
		all = append(all, serve.Steering{Name: name, Vector: v, Scale: s.scale})
	}
	return all, nil
}

// checkSteer refuses values of --steer that no model could follow, and devices that follow none.
func (c *serveCommand) checkSteer(a *app) error {
	seen := map[string]bool{}
	for _, value := range c.Steer {
		name, s, err := parseNamedSteer(value)
		switch {
		case err != nil:
			return err
		case seen[name]:
			return usagef("--steer: %s comes twice, want a name for each", quoteShort(name))
		case s.scale == 0:
			return usagef("--steer %s: the scale 0 adds nothing", quoteShort(value))
		}
		seen[name] = true
	}
	for _, value := range c.SAE {
		name, dir, _ := strings.Cut(value, "=")
		if name == "" || dir == "" || seen[name] {
			return usagef("--sae %s: want NAME=DIR, another name for each", quoteShort(value))
		}
		seen[name] = true
	}
	device, said, err := a.deviceName()
	if err == nil && device != "cpu" && len(seen) > 0 {
		err = noEdits("--"+[]string{"sae", "steer"}[min(1, len(c.Steer))], said, device)
	}
	return err
}

// parseNamedSteer reads NAME=FILE[:SCALE][@LAYERS].
func parseNamedSteer(value string) (name string, s steerValue, err error) {
	name, file, ok := strings.Cut(value, "=")
	if !ok || name == "" || file == "" {
		return "", s, usagef("--steer %s: want NAME=FILE, the name that requests have for it",
			quoteShort(value))
	}
	s, err = parseSteer(file)
	return name, s, err
}

// options checks the flags, and makes serve's options of them.
func (c *serveCommand) options(a *app) (serve.Options, error) {
	who, much := &c.Who, &c.Much
	build := thisBuild()
	o := serve.Options{
		Version: build.Version, Commit: build.Commit, Build: build.String(),
		Keys: who.APIKey, Origins: who.CORSOrigin, Hosts: who.AllowHost,
		CacheShare: who.CacheShare,
		MaxQueue:   much.MaxQueue, MaxPrompts: much.MaxPrompts, MaxN: much.MaxN,
		MaxWait: much.MaxWait, Timeout: much.Timeout, Pooling: c.Pooling, ToolFormat: c.ToolFormat,
		NoInside: c.Inside == "off",
		Batcher:  batch.Options{MaxStreams: much.MaxStreams, MaxDelay: much.MaxDelay},
	}
	o.AdapterBytes, o.ModelBytes = int64(a.LoraBytes), int64(a.ModelBytes)
	if o.Name = c.name(a); len(c.ModelName) > 0 {
		o.Name, o.Aliases = c.ModelName[0], c.ModelName[1:]
	}
	for _, limit := range []struct {
		flag  string
		value int64
	}{
		{"--max-streams", int64(much.MaxStreams)}, {"--max-queue", int64(much.MaxQueue)},
		{"--max-prompts", int64(much.MaxPrompts)}, {"--max-n", int64(much.MaxN)},
	} {
		if limit.value < 1 {
			return o, usagef("%s %d: want 1 or more", limit.flag, limit.value)
		}
	}
	switch {
	case much.MaxBody == 0:
		return o, usagef("--max-body 0: want 1 or more")
	case much.MaxDelay <= 0:
		return o, usagef("--max-delay %v: want more than 0", much.MaxDelay)
	case much.MaxWait < 0:
		return o, usagef("--max-wait %v: want 0 (no bound) or more", much.MaxWait)
	case much.Timeout < 0:
		return o, usagef("--timeout %v: want 0 (none) or more", much.Timeout)
	case much.Grace < 0:
		return o, usagef("--grace %v: want 0 or more", much.Grace)
	case much.Drain < 0:
		return o, usagef("--drain %v: want 0 or more", much.Drain)
	case (who.TLSCert == nil) != (who.TLSKey == nil):
		return o, usagef("--tls-cert and --tls-key: want both or neither")
	}
	if err := cmp.Or(c.checkSteer(a), a.checkVariants()); err != nil {
		return o, err
	}
	o.Log = c.newLog(a)
	for _, network := range who.TrustedProxy {
		prefix, err := parseNetwork(network)
		if err != nil {
			return o, usagef("--trusted-proxy %s: want an address or a network, as 10.0.0.0/8",
				quoteShort(network))
		}
		o.TrustedProxies = append(o.TrustedProxies, prefix)
	}
	for _, origin := range o.Origins {
		if !isOrigin(origin) {
			return o, usagef(
				"--cors-origin %s: want an origin as https://example.org, null or *, and "+
					"nothing after the host and the port", quoteShort(origin))
		}
	}
	if err := cmp.Or(fault.NoneEmpty("--model-name", c.ModelName), fault.NoneEmpty("--api-key",
		o.Keys), fault.NoneEmpty("--allow-host", o.Hosts)); err != nil {
		return o, fault.Usage{Err: err}
	}
	return o, nil
}

// parseNetwork parses a network, or an address as the network that it is alone.
func parseNetwork(s string) (netip.Prefix, error) {
	if address, err := netip.ParseAddr(s); err == nil && address.Zone() == "" {
		return address.Unmap().Prefix(address.Unmap().BitLen())
	}
	prefix, err := netip.ParsePrefix(s)
	return prefix.Masked(), err
}

// isOrigin reports whether a browser could send it as Origin: it is compared as it stands, so that
// one with a path would let nobody in.
func isOrigin(s string) bool {
	if s == "null" || s == "*" {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && u.Host != "" && s == u.Scheme+"://"+u.Host && s == strings.ToLower(s)
}

// name is the name of the model's folder.
func (c *serveCommand) name(a *app) string {
	if a.ownName != "" {
		return a.ownName
	}
	if a.Model == nil {
		return "demo"
	}
	path, err := filepath.Abs(*a.Model)
	if err != nil {
		path = *a.Model
	}
	name := filepath.Base(path)
	info, err := os.Stat(path)
	if err != nil { // it is the name of a model that was pulled
		return *a.Model
	}
	if !info.IsDir() {
		name = strings.TrimSuffix(name, filepath.Ext(name))
		if name == "model" { // as everybody's is called
			name = filepath.Base(filepath.Dir(path))
		}
	}
	return name
}

// manyFields lists the fields of the more unusual options.
func manyFields() string {
	var names []string
	for _, o := range option.Of(new(decode.Options)) {
		if g := o.Flag.Group; o.Field.Name != "" &&
			(g == option.Filters || g == option.Repetition) {
			names = append(names, o.Field.Name)
		}
	}
	return strings.Join(names, ", ")
}

// setTemplate sets the template of conversations. A checkpoint's that cannot be read refuses them, and
// a model without one answers as plain.
func (c *serveCommand) setTemplate(a *app, t *tokenizer.Tokenizer, o *serve.Options) error {
	template, err := a.chatTemplate(c.Template, t)
	switch {
	case err != nil && c.Template != nil:
		return err
	case err != nil:
		a.Notef("%s; conversations are refused", quote.OneLine(err))
		return nil
	case template == nil && c.Template != nil:
		return nil
	case template == nil:
		plain := chat.Named[0].Name
		if template, err = a.chatTemplate(&plain, t); err != nil {
			return err
		}
		o.TemplateNote = chat.Untrained
	}
	o.Template, o.TemplateTokens = template.Source, template.Tokens
	o.TemplateJinja = template.Whole()
	return nil
}
