package serve

// Access control: hosts, origins and keys.

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// A door checks a request before the server reads more of it than its header.
type door struct {
	options *Options
	keys    *keys
	origin  *http.CrossOriginProtection
}

func newDoor(o *Options) door {
	return door{options: o, keys: newKeys(o), origin: http.NewCrossOriginProtection()}
}

// admit lets a request in, or refuses it. It answers OPTIONS itself: done is then true.
func (d *door) admit(v *visit, found route) (done bool, err error) {
	r := v.request
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
		if found.get != nil && !strings.HasPrefix(r.URL.Path, "/v1/") {
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
	h.Set("Access-Control-Expose-Headers", "X-Request-Id, X-Ignored-Fields, X-Schema-Notes, X-Seed, Retry-After")
	if r.Method == http.MethodOptions {
		h.Set("Access-Control-Allow-Methods", "GET, HEAD, POST, OPTIONS")
		h.Set("Access-Control-Max-Age", "600")
		if wanted := r.Header.Get("Access-Control-Request-Headers"); wanted != "" {
			h.Set("Access-Control-Allow-Headers", wanted)
		}
	}
	return true
}

// methods lists the methods of a route.
func (r route) methods() string {
	var all []string
	if r.get != nil {
		all = append(all, http.MethodGet, http.MethodHead)
	}
	if r.post != nil {
		all = append(all, http.MethodPost)
	}
	return strings.Join(append(all, http.MethodOptions), ", ")
}
