package serve

// Who a request belongs to: the client that it is of.

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A client is who a request belongs to. Clients take turns, and have shares of what is bounded.
type client struct {
	// id tells the client from others: by its key where keys have several names, else by its address.
	// One key for all tells nobody apart.
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
