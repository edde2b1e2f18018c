package main

// Where gpt serve listens, who may ask, what it loads beside its model, and what it says of itself.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/cmd/gpt/internal/show"
	"picogpt/cmd/gpt/internal/textio"
	"picogpt/decode"
	"picogpt/internal/fault"
	"picogpt/internal/option"
	"picogpt/internal/quote"
	"picogpt/model"
	"picogpt/serve"
)

// places is where the server listens.
type places struct {
	api         *listen.Listener
	metrics     *listen.Listener    // nil without --metrics-addr
	certificate *listen.Certificate // nil without TLS
}

// listen binds the addresses: those that are taken are known before a model is loaded.
func (c *serveCommand) listen() (on *places, err error) {
	on = &places{}
	if c.Who.TLSCert != nil {
		on.certificate, err = listen.ReadCertificate(*c.Who.TLSCert, *c.Who.TLSKey)
		if err != nil {
			return nil, err
		}
	}
	if err := c.settleAddr(); err != nil {
		return nil, err
	}
	if on.api, err = listen.Listen("--addr", c.Addr, on.certificate); err != nil {
		return nil, err
	}
	if c.Metrics != nil {
		if on.metrics, err = listen.Listen("--metrics-addr", *c.Metrics, nil); err != nil {
			on.close()
			return nil, err
		}
	}
	return on, nil
}

// settleAddr makes one address of --addr, --host and --port.
func (c *serveCommand) settleAddr() error {
	if c.Host == nil && c.Port == nil {
		return nil
	}
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return nil // which Listen explains
	}
	if c.Host != nil {
		host = strings.TrimSuffix(strings.TrimPrefix(*c.Host, "["), "]")
		_, err := netip.ParseAddr(host)
		if host == "" || err != nil && strings.ContainsAny(host, ":/") {
			return usagef("--host %s: want the name or the number of one, such as 127.0.0.1 or "+
				"0.0.0.0", quoteShort(*c.Host))
		}
	}
	if c.Port != nil {
		if *c.Port < 0 || *c.Port > 1<<16-1 {
			return usagef("--port %d: want 0 (any free one) to 65535", *c.Port)
		}
		port = strconv.Itoa(*c.Port)
	}
	c.Addr = net.JoinHostPort(host, port)
	return nil
}

func (p *places) close() error {
	if p.metrics == nil {
		return p.api.Close()
	}
	return errors.Join(p.api.Close(), p.metrics.Close())
}

// checkVariants refuses adapters that requests choose, where a GPU computes.
func (a *app) checkVariants() error {
	device, said, err := a.deviceName()
	if err == nil && device != "cpu" && len(a.variants) > 0 {
		err = usagef("--adapter %s=%s and %s %s: %w", a.variants[0].name, a.variants[0].path, said,
			device, model.ErrNoVariants)
	}
	return err
}

// adapters opens the adapters that requests choose. fingerprint makes one of an adapter's digest.
func (c *serveCommand) adapters(
	a *app, m *model.Model, fingerprint func(string) string,
) (all []serve.Adapter, err error) {
	for i, named := range a.variants {
		with, err := a.opened.With(a.choices[i])
		if err != nil {
			return nil, err
		}
		digest, err := a.choices[i].Digest()
		if err != nil {
			return nil, err
		}
		for _, note := range with.Unread {
			a.Notef("%s", note)
		}
		one := serve.Adapter{Name: named.name, Scale: 1, Fingerprint: fingerprint(digest),
			Bytes: model.BytesIn(a.Dtype, with.Tensors, with.Change.Names)}
		if scale := a.choices[i].Scale; scale != nil {
			one.Scale = *scale
		}
		one.Open = func(ctx context.Context) (*model.Model, error) {
			v, err := m.Variant(ctx, with.Change)
			if err == nil {
				for _, note := range v.Notes() {
					a.Notef("adapter %s: %s", named.name, note)
				}
			}
			return v, err
		}
		all = append(all, one)
	}
	return all, nil
}

// otherModels opens the models beside the first, to see that they can be.
func (c *serveCommand) otherModels(a *app, o *serve.Options) (all []serve.Other, err error) {
	alone, own := *c, *o
	alone.Steer, alone.SAE, own.Aliases = nil, nil, nil // of the first model
	own.Keys, own.NamedKeys = nil, nil
	for _, named := range a.others {
		tell := func(note string) { a.Notef("model %s: %s", named.name, note) }
		quiet := func(string) {} // what there is to say is said once
		other, err := c.tryOther(a.other(named, tell), named.name)
		if err != nil {
			return nil, fmt.Errorf("--model %s: %w", named.name, err)
		}
		other.Check = func(context.Context) error {
			_, err := c.tryOther(a.other(named, quiet), named.name)
			return err
		}
		other.Open = func(context.Context) (*serve.Server, func(), error) {
			b := a.other(named, tell)
			tell = quiet
			m, err := b.loadModel(b.modelOptions())
			if err != nil {
				b.close()
				return nil, nil, err
			}
			own := own
			own.Name = named.name
			s, err := alone.newServer(b, m, &own)
			if err != nil {
				b.close()
			}
			return s, b.close, err
		}
		all = append(all, other)
	}
	return all, nil
}

// tryOther opens the files of an app's model and closes them.
func (c *serveCommand) tryOther(b *app, name string) (o serve.Other, err error) {
	defer b.close()
	if _, err := b.takeSaved(option.Of(new(decode.Options)), nil); err != nil {
		return o, err
	}
	ck := b.opened
	_, ignored, err := model.Check(ck.Config, ck.Tensors)
	if err != nil {
		return o, err
	}
	if _, err := b.openTokenizer(); err != nil {
		return o, err
	}
	var names []string
	for _, t := range ck.Tensors.All() {
		if !slices.Contains(ignored, t.Name) {
			names = append(names, t.Name)
		}
	}
	return serve.Other{Name: name, Context: ck.Config.Positions,
		Bytes: model.BytesIn(b.Dtype, ck.Tensors, names)}, nil
}

// other returns an app for a model beside the first, which tells its notes.
func (a *app) other(of named, tell func(note string)) *app {
	b := newApp()
	b.globals, b.chosen = a.globals, a.chosen
	b.Stderr, b.Tell, b.Verbose = a.Stderr, tell, a.Verbose
	b.Model, b.isDemo, b.ownName = &of.path, false, ""
	b.Adapters, b.others, b.variants = nil, nil, nil
	b.useDemo()
	b.uses, b.chooses, b.headless = a.uses, a.chooses, a.headless
	return b
}

// newLog returns the log of --log, nil if that is off.
func (c *serveCommand) newLog(a *app) *slog.Logger {
	o := &slog.HandlerOptions{}
	if a.Verbose {
		o.Level = slog.LevelDebug
	}
	switch c.Log {
	case "text":
		return slog.New(slog.NewTextHandler(a.Stderr, o))
	case "json":
		log := slog.New(slog.NewJSONHandler(quote.NewShownJSON(a.Stderr), o))
		a.Tell = func(note string) { log.Info(note) } // each line is JSON
		return log
	}
	return nil
}

// announce says where the server listens, in the first line, then what serves, and within which
// limits. It returns the log of what happens to the server, which is not off if --log is.
func (c *serveCommand) announce(
	a *app, on *places, m *model.Model, o *serve.Options, begin func(first string),
) *slog.Logger {
	about := []any{"address", on.api.URL()}
	first := fmt.Sprintf("gpt: listening on %s\n", on.api.URL())
	if on.metrics != nil {
		about = append(about, "metrics", on.metrics.URL()+"/metrics")
		first += fmt.Sprintf("gpt: metrics on %s/metrics\n", on.metrics.URL())
	}
	about = append(about, "version", o.Version, "model", o.Name,
		"format", show.Formats(m.Format(), m.CacheFormat()), "kernels", m.Kernel(),
		"threads", m.Threads(), "context", m.Config().Positions,
		"cache_bytes", m.CacheLimit(), "max_streams", c.Much.MaxStreams,
		"max_delay", c.Much.MaxDelay.String(), "max_queue", o.MaxQueue,
		"max_wait", o.MaxWait.String(), "max_prompts", o.MaxPrompts, "max_n", o.MaxN,
		"max_body", o.MaxBody,
		"timeout", o.Timeout.String(), "grace", c.Much.Grace.String(),
		"drain", c.Much.Drain.String(), "keys", len(o.Keys)+len(o.NamedKeys))
	told := o.Log
	switch c.Log {
	case "json":
		var line bytes.Buffer
		slog.New(slog.NewJSONHandler(quote.NewShownJSON(&line), nil)).Info("listening", about...)
		begin(line.String())
	case "text":
		begin(first)
		told.Info("listening", about...)
	default:
		begin(first) // and what goes wrong
		told = slog.New(slog.NewTextHandler(a.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	}
	for _, x := range o.Adapters {
		a.Notef("adapter %s: copies of %s, made at first use", x.Name, quote.Size(x.Bytes))
	}
	for _, x := range o.Models {
		a.Notef("model %s: weights of %s, loaded at first use", x.Name, quote.Size(x.Bytes))
	}
	for _, warning := range c.warnings(on, m, o) {
		told.Warn(warning)
	}
	return told
}

// warnings says what is allowed, and probably not meant.
func (c *serveCommand) warnings(on *places, m *model.Model, o *serve.Options) (all []string) {
	if !on.api.Loopback && len(o.Keys)+len(o.NamedKeys) == 0 {
		all = append(all, fmt.Sprintf("--addr %s without a key: whoever reaches it may ask; "+
			"$GPT_API_KEY, --api-key and --api-key-file set one", quote.Plain(c.Addr, 80)))
	}
	if m.Params().LMHead == nil {
		all = append(all, fmt.Sprintf("the model has %v: it answers /classify and /v1/embeddings",
			model.ErrNoLogits))
	}
	context := m.Config().Positions
	if need, limit := m.SessionBytes(context), m.CacheLimit(); 0 < limit && limit < need {
		all = append(all, fmt.Sprintf("--cache-bytes %d holds no text of the whole context: one "+
			"of %d tokens can take %d bytes, and longer requests than fit are refused", limit,
			context, need))
	}
	return all
}

// The file of keys, which is read again when it changes.

// readKeys reads --api-key-file. contents is what filewatch.Watch compares with.
func readKeys(name string) (keys []serve.Key, contents []string, err error) {
	if contents, err = listen.Read(name); err == nil {
		keys, err = parseKeys(contents[0])
	}
	if err != nil {
		return nil, nil, fault.Usagef("--api-key-file %w", textio.Error(quoteShort(name), err))
	}
	return keys, contents, nil
}

// parseKeys reads lines of a name and a key. What follows a # that begins a word is a comment.
func parseKeys(text string) (keys []serve.Key, err error) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		words := strings.Fields(strings.TrimPrefix(line, "\ufeff"))
		for i, word := range words {
			if strings.HasPrefix(word, "#") {
				words = words[:i]
				break
			}
		}
		switch len(words) {
		case 0:
		case 2:
			keys = append(keys, serve.Key{Name: words[0], Value: words[1]})
		default: // no word is shown: it may be a key
			return nil, fmt.Errorf("line %d: want a name and a key, found %d words", n, len(words))
		}
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("want at least one name and key, found none")
	}
	return keys, nil
}

// watchKeys gives a server the keys of a file whenever that changes, until ctx is done. A file with
// a mistake changes nothing.
func watchKeys(
	ctx context.Context, name string, contents []string, s *serve.Server, log *slog.Logger,
) {
	listen.Watch(ctx, contents, func(contents []string, err error) {
		var keys []serve.Key
		if err == nil {
			if keys, err = parseKeys(contents[0]); err == nil {
				err = s.SetNamedKeys(keys)
			}
		}
		if err != nil {
			log.Error("keys are as before", "file", name, "error", err.Error())
			return
		}
		log.Info("keys were read again", "file", name, "keys", len(keys))
	}, name)
}
