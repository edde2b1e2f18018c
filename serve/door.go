package serve

// Who may come in, and who a request belongs to: hosts, origins, keys, clients.

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// A door checks a request before the server reads more of it than its header.
type door struct {
	options *Options
	keys    *keys
	origin  *http.CrossOriginProtection
}

// admit lets a request in, or refuses it. It answers OPTIONS itself: done is then true.
func (d *door) admit(v *visit) (done bool, err error) {
	r, found := v.request, v.route
	if d.options.Loopback && !d.knows(r.Host) {
		return false, errUnknownHost()
	}
	trusted := d.allow(v)
	if r.Method == http.MethodOptions {
		v.Header().Set("Allow", found.methods())
		v.WriteHeader(http.StatusNoContent)
		return true, nil
	}
	if !trusted && d.origin.Check(r) != nil {
		return false, errorf(http.StatusForbidden, "unknown_origin",
			"Origin: pages of other sites may not use this server")
	}
	if d.keys.wanted && !found.open && !d.keys.admit(v) {
		want := "Bearer"
		if found.method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/v1/") {
			// browsers then ask for a password
			want = `Basic realm="gpt"`
		}
		v.Header().Set("WWW-Authenticate", want)
		return false, errNoKey()
	}
	return false, nil
}

func errUnknownHost() error {
	return errorf(http.StatusForbidden, "unknown_host",
		"Host: want a loopback address or localhost, as the server listens on no other")
}

// knows reports whether a Host names a loopback address, or is allowed by the options.
func (d *door) knows(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if name == "localhost" || slices.ContainsFunc(d.options.Hosts, func(h string) bool {
		return strings.EqualFold(h, name)
	}) {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && address.IsLoopback()
}

// allow sends the headers that let a page of another origin read the answer, if the origin is
// allowed.
func (d *door) allow(v *visit) bool {
	if len(d.options.Origins) == 0 {
		return false
	}
	r, h := v.request, v.Header()
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	switch {
	case origin == "":
		return false
	case slices.Contains(d.options.Origins, origin):
		h.Set("Access-Control-Allow-Origin", origin)
	case slices.Contains(d.options.Origins, "*"):
		h.Set("Access-Control-Allow-Origin", "*")
	default:
		return false
	}
	h.Set("Access-Control-Expose-Headers",
		"X-Request-Id, X-Ignored-Fields, X-Schema-Notes, X-Seed, Retry-After, Warning")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
		h.Set("Access-Control-Max-Age", "600")
		if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
			h.Set("Access-Control-Allow-Headers", wanted)
		}
	}
	return true
}

// A client is who a request belongs to. Clients take turns, and have shares of what is bounded.
type client struct {
	// id tells the client from others: by its key where keys have several names, else by its
	// address. One key for all tells nobody apart.
	id string

	key     string // the name of its key; "" for a request that has none
	address string // without a port; an IPv6 address is the network /64, which one site has whole
}

// clientOf returns the client of a request, so far without a key.
func (o *Options) clientOf(r *http.Request) client {
	from := o.addressOf(r)
	return client{id: from, address: from}
}

// withKey returns the client when it has shown a key. among says that there are keys of others.
func (c client) withKey(name string, among bool) client {
	c.key = name
	if among {
		c.id = "key " + name // an address has no space
	}
	return c
}

// addressOf returns the address of a request: that of the connection, or, where this is a trusted
// proxy's, the rightmost address of X-Forwarded-For that is no trusted proxy's. What stands left of
// it could be anybody's invention.
func (o *Options) addressOf(r *http.Request) string {
	at, ok := parseAddress(r.RemoteAddr)
	if !ok {
		return r.RemoteAddr // of a listener that has no addresses
	}
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(hops) {
		if !o.trusts(at) {
			break
		}
		before, ok := parseAddress(strings.TrimSpace(hop))
		if !ok { // the proxy that wrote it is the nearest that is known
			break
		}
		at = before
	}
	return networkOf(at)
}

// trusts reports whether an address is a trusted proxy's.
func (o *Options) trusts(a netip.Addr) bool {
	return slices.ContainsFunc(o.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(a) })
}

// parseAddress parses an address that may have a port, brackets or a zone.
func parseAddress(s string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(strings.Trim(s, "[]"))
	if err != nil {
		with, err := netip.ParseAddrPort(s)
		if err != nil {
			return a, false
		}
		a = with.Addr()
	}
	return a.Unmap().WithZone(""), true
}

// networkOf returns an IPv4 address, or the /64 of an IPv6 address.
func networkOf(a netip.Addr) string {
	if a.Is4() {
		return a.String()
	}
	p, _ := a.Prefix(64) // an address of 128 bits has one
	return p.String()
}

// API keys: who has which, and the end of requests whose key is no longer one.

// A Key is an API key, and the name of who has it. Several keys may have one name.
type Key struct{ Name, Value string }

// keys holds the keys of a server. They can be replaced while requests are answered.
type keys struct {
	wanted    bool // requests need a key, even if none is left
	unnamed   []Key
	replacing sync.Mutex
	current   atomic.Pointer[keySet]
}

// A keySet is the keys at one time.
type keySet struct {
	keys    []heldKey
	several bool // names: a key tells who asks
}

// A heldKey is a key that is let in.
type heldKey struct {
	name   string
	digest [sha256.Size]byte // so that comparison takes the same time for every length
	valid  context.Context   // until the key is removed
	end    context.CancelCauseFunc
}

// newKeys returns the keys of options.
func newKeys(o *Options) *keys {
	k := &keys{wanted: len(o.Keys)+len(o.NamedKeys) > 0}
	for i, value := range o.Keys {
		k.unnamed = append(k.unnamed, Key{fmt.Sprintf("#%d", i+1), value})
	}
	k.current.Store(&keySet{})
	k.replace(o.NamedKeys)
	return k
}

// SetNamedKeys replaces Options.NamedKeys. Texts of keys that are not among the new ones end, with
// status 401. A server that began without any key is open to all, and stays so.
func (s *Server) SetNamedKeys(named []Key) error {
	if !s.door.keys.wanted {
		return fmt.Errorf("named keys: want none, as the server began without keys, found %d",
			len(named))
	}
	if err := checkKeys(s.options.Keys, named); err != nil {
		return err
	}
	s.door.keys.replace(named)
	return nil
}

// checkKeys returns an error for keys that cannot be meant.
func checkKeys(unnamed []string, named []Key) error {
	seen := map[string]string{}
	for i, key := range unnamed {
		if key == "" {
			return fmt.Errorf("key %d of %d: want at least one byte, found none", i+1, len(unnamed))
		}
		seen[key] = "one without a name"
	}
	for i, key := range named {
		switch had := seen[key.Value]; {
		case key.Name == "":
			return fmt.Errorf("named key %d of %d: want a name, found none", i+1, len(named))
		case key.Value == "":
			return fmt.Errorf("the key of %s: want at least one byte, found none", short(key.Name))
		case had != "" && had != key.Name:
			return fmt.Errorf("the key of %s: want a key of its own, found that of %s",
				short(key.Name), had)
		}
		seen[key.Value] = key.Name
	}
	return nil
}

// replace replaces the named keys, and ends the requests of those that are no longer keys.
func (k *keys) replace(named []Key) {
	k.replacing.Lock()
	defer k.replacing.Unlock()
	old, fresh := k.current.Load(), &keySet{}
	for _, key := range append(slices.Clone(k.unnamed), named...) {
		held := heldKey{digest: sha256.Sum256([]byte(key.Value))}
		if i := old.index(held.digest); i >= 0 {
			held = old.keys[i]
		} else {
			held.valid, held.end = context.WithCancelCause(context.Background())
		}
		held.name = key.Name
		fresh.keys = append(fresh.keys, held)
		fresh.several = fresh.several || key.Name != fresh.keys[0].name
	}
	k.current.Store(fresh)
	for _, held := range old.keys {
		if fresh.index(held.digest) < 0 {
			held.end(errNoKey())
		}
	}
}

// index returns the index of the key with a digest, or -1. It takes the same time for every digest.
func (s *keySet) index(digest [sha256.Size]byte) int {
	found := 0
	for i := range s.keys {
		same := subtle.ConstantTimeCompare(digest[:], s.keys[i].digest[:])
		found = subtle.ConstantTimeSelect(same, i+1, found)
	}
	return found - 1
}

// admit reports whether a request has one of the keys. The request is then of that key's client,
// and ends when the key is removed.
func (k *keys) admit(v *visit) bool {
	_, value, basic := v.request.BasicAuth()
	if !basic {
		scheme, rest, _ := strings.Cut(v.request.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return false
		}
		value = strings.TrimSpace(rest)
	}
	set := k.current.Load()
	i := set.index(sha256.Sum256([]byte(value)))
	if i < 0 {
		return false
	}
	held := &set.keys[i]
	v.client = v.client.withKey(held.name, set.several)
	v.endWith(held.valid)
	return true
}

func errNoKey() error {
	return errorf(http.StatusUnauthorized, "invalid_api_key",
		"Authorization: want Bearer and one of the server's keys")
}

// The values of Options.CacheShare.
const (
	ShareKey    = "key"    // those with keys of one name
	ShareClient = "client" // one client: a key where there are several names, else an address
	ShareAll    = "all"
)

// tenant returns who shares the caches with a client: all with the same result do.
func (s *Server) tenant(c client) string {
	share := s.options.CacheShare
	if share == ShareKey && !s.door.keys.wanted {
		if share = ShareClient; s.options.Loopback {
			share = ShareAll
		}
	}
	switch share {
	case ShareKey:
		return "key " + c.key
	case ShareClient:
		return "client " + c.id
	}
	return ""
}

// saltOf returns the key that separates the cached prompts of a tenant and a salt from others: a
// digest, because it is kept as long as the cached state.
func saltOf(tenant, salt string) string {
	digest := sha256.Sum256([]byte(tenant + "\x00" + salt))
	return string(digest[:])
}
