package serve

// The options of a Server, and the fingerprint of what it answers with.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"slices"
	"strings"
	"time"

	"picogpt/batch"
	"picogpt/checkpoint"
	"picogpt/eval"
	"picogpt/model"
	"picogpt/tokenizer"
)

// Options set the name of a Server, who may use it, and its limits. The zero value suits a server
// that no other machine can reach.
type Options struct {
	// Name is the model's id. "" means "model". Aliases are other ids that requests may have;
	// answers and metrics have Name.
	Name    string
	Aliases []string

	// Version and Commit say of which build the program is, for /version and the metric
	// gpt_build_info. Build is a line that says all of it, as gpt version does.
	Version, Commit, Build string

	// Fingerprint is the answers' system_fingerprint. Servers with the same fingerprint give the
	// same texts; it is for example a digest of the weights and the number formats. "" means none.
	Fingerprint string

	// Keys holds the API keys. A request must have one of them, as Authorization: Bearer KEY or as
	// the password of basic authentication, for every path but /health and /ready. If there are
	// none, requests need no key. Their names are "#1", "#2" and so on; NamedKeys have names of
	// their own, and SetNamedKeys replaces them. Whoever has the same name is the same client.
	Keys      []string
	NamedKeys []Key

	// Origins holds the web origins, as https://example.org, whose pages may use the server; "null"
	// is the origin of pages from files, "*" allows all.
	Origins []string

	// Loopback says that the server listens on a loopback address. A request's Host must then name
	// one, or be one of Hosts. Without this check, a web page could use the server by rebinding its
	// host name to the address.
	Loopback bool
	Hosts    []string

	// TrustedProxies are the addresses of proxies whose X-Forwarded-For says who the client is. A
	// client is a key, where keys have several names, or else an address: the /64 of an IPv6
	// address.
	TrustedProxies []netip.Prefix

	MaxQueue   int   // how many texts may wait; more are refused with 429. 0 means 256
	MaxPrompts int   // prompts of a request, and their texts; 0 means 1024
	MaxN       int   // n and best_of of a request; 0 means 128
	MaxBody    int64 // bytes of a request; 0 means DefaultMaxBody

	// CacheShare says who shares evaluated prompts and compiled forms, and can so find out by the
	// time of an answer what another has asked: ShareKey, which is the default, ShareClient or
	// ShareAll. Where there are no keys, ShareKey means ShareAll if Loopback is set, else
	// ShareClient.
	CacheShare string

	// MaxWait bounds how long a text is expected to wait for its first token: by the tokens of the
	// texts that are to be written before it, and as many a second as the batch had lately. What
	// would wait longer is refused with 429, and a Retry-After of the seconds until it would not. 0
	// means no bound.
	MaxWait time.Duration

	// Timeout bounds the time of a request, from its body to the end of the answer. 0 means none.
	Timeout time.Duration

	// Batcher sets how many texts are generated at a time, and how long one waits for another.
	Batcher batch.Options

	// Pooling says how the vectors of a text's tokens become its vector for /v1/embeddings: "mean",
	// which is the default, "last" or "weighted": see [eval.Pooling].
	Pooling string

	// Head is the head of a checkpoint that classifies texts, for /classify. Nil means that
	// requests for it are refused.
	Head *checkpoint.Head

	// Template makes the prompt of /v1/chat/completions: in Jinja of all messages, or of each
	// message of a user in the syntax of text/template, with the fields .Text, .Turn (its number,
	// from 0) and .Ended (false). "" means that conversations are refused. TemplateJinja says that
	// it is in Jinja where its source does not show it. TemplateTokens are the texts that one in
	// Jinja knows as bos_token, eos_token and so on. TemplateNote is sent with each answer, in the
	// header Warning.
	Template       string
	TemplateJinja  bool
	TemplateTokens map[string]string
	TemplateNote   string

	// ToolFormat is how an answer has calls of tools: "hermes", "mistral", "llama" or "json"; or
	// "none", which leaves them in the text unless a request wants one. "" means that of the
	// template's family.
	ToolFormat string

	// Steer are the control vectors that requests may ask for by name, in the field steer. A model
	// on a GPU has none.
	Steer []Steering

	// Adapters are variants of the model that requests may choose, by the model "Name:NAME" or in
	// the field lora. AdapterBytes bounds the copies that are there at a time: 0 means no bound.
	Adapters     []Adapter
	AdapterBytes int64

	// Models are others, which requests choose by their names. Each has a Server of its own, with
	// its own batch and queue, behind the keys of this one. ModelBytes bounds those that are there
	// at a time: 0 means no bound.
	Models     []Other
	ModelBytes int64

	// NoInside refuses POST /inside, and the field edits. Else requests may read and change what a
	// model on the processor computes inside.
	NoInside bool

	// Log receives a line for each request, and panics; never a text or a key. Those of probes are
	// at slog.LevelDebug. Nil means no log.
	Log *slog.Logger
}

func (o Options) withDefaults(positions int) Options {
	orDefault(&o.Name, "model")
	orDefault(&o.MaxQueue, 256)
	orDefault(&o.MaxPrompts, 1024)
	orDefault(&o.MaxN, 128)
	orDefault(&o.MaxBody, DefaultMaxBody(positions))
	orDefault(&o.Batcher.MaxStreams, 16)
	orDefault(&o.Pooling, "mean")
	orDefault(&o.CacheShare, ShareKey)
	o.Steer = slices.Clone(o.Steer)
	for i := range o.Steer {
		orDefault(&o.Steer[i].Scale, 1)
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// ids returns the names of the model.
func (o *Options) ids() []string { return append([]string{o.Name}, o.Aliases...) }

// checkNames returns an error for adapters and models that requests could not choose.
func (o *Options) checkNames() (err error) {
	seen := o.ids()
	check := func(what, name string, bytes, most int64) error {
		seen = append(seen, name)
		switch {
		case name == "" || len(name) > mostName || strings.Contains(name, ":"):
			return fmt.Errorf("%s %s: want a name of 1 to %d bytes without a colon", what,
				short(name), mostName)
		case slices.Index(seen, name) < len(seen)-1:
			return fmt.Errorf("%s %s: want a name of its own", what, short(name))
		case most > 0 && bytes > most:
			return fmt.Errorf("%s %s: takes %d bytes, want at most %d", what, short(name), bytes,
				most)
		}
		return nil
	}
	for _, a := range o.Adapters {
		err = cmp.Or(err, check("adapter", a.Name, a.Bytes, o.AdapterBytes))
	}
	for _, m := range o.Models {
		err = cmp.Or(err, check("model", m.Name, m.Bytes, o.ModelBytes))
	}
	return err
}

// orDefault sets *v to value if it is zero.
func orDefault[T comparable](v *T, value T) {
	var zero T
	if *v == zero {
		*v = value
	}
}

// check returns an error for options that cannot be meant.
func (o *Options) check(m *model.Model, tok *tokenizer.Tokenizer) error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"max queue", int64(o.MaxQueue)}, {"max prompts", int64(o.MaxPrompts)},
		{"max n", int64(o.MaxN)}, {"max body", o.MaxBody}, {"timeout", int64(o.Timeout)},
		{"max wait", int64(o.MaxWait)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("%s %d: want 0 (the default) or more", limit.name, limit.value)
		}
	}
	if o.MaxBody > math.MaxInt64/bodiesAtOnce {
		return fmt.Errorf("max body %d: want at most %d", o.MaxBody,
			int64(math.MaxInt64/bodiesAtOnce))
	}
	if share := o.CacheShare; share != ShareKey && share != ShareClient && share != ShareAll {
		return fmt.Errorf("cache share %q: want %s, %s or %s", share, ShareKey, ShareClient,
			ShareAll)
	}
	if rows := m.Config().VocabSize; tok.Size() > rows {
		return fmt.Errorf("the tokenizer has %d ids, want at most the %d of the model", tok.Size(),
			rows)
	}
	return cmp.Or(eval.Pooling(o.Pooling).Check(), checkKeys(o.Keys, o.NamedKeys),
		checkSteering(m, o.Steer), o.checkNames())
}

// FingerprintOf returns an Options.Fingerprint that tells models and number formats apart: with the
// same one, and the same seed, the texts are the same. weights and tokenizer are the digests of the
// checkpoint's files, vectors those of Options.Steer.
func FingerprintOf(m *model.Model, weights, tokenizer string, vectors ...Steering) string {
	all := sha256.New()
	fmt.Fprintln(all, weights, tokenizer, m.Format(), m.CacheFormat())
	writeSteering(all, vectors)
	config, before := m.Config(), m.Config()
	before.Generation = model.Generation{} // which no digest covers
	if ends := config.EndTokens(); !slices.Equal(ends, before.EndTokens()) {
		fmt.Fprintln(all, ends)
	}
	if fields := config.Generation.Sampling; len(fields) > 0 {
		fmt.Fprintln(all, fields) // in the order of their names
	}
	return "fp_" + hex.EncodeToString(all.Sum(nil)[:8])
}
