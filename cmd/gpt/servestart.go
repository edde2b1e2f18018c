package main

// Where gpt serve listens, and what it says of itself, beside its requests.

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"picogpt/cmd/gpt/internal/listen"
	"picogpt/cmd/gpt/internal/show"
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
