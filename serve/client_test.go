package serve

// Who a request belongs to.

import (
	"net/http/httptest"
	"net/netip"
	"testing"
)

func TestTheAddressOfAClient(t *testing.T) {
	proxies := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}
	for _, x := range []struct {
		from      string
		forwarded []string
		trusted   []netip.Prefix
		want      string
	}{
		{"192.0.2.7:4711", nil, nil, "192.0.2.7"},
		{"[2001:db8:1:2:3:4:5:6]:80", nil, nil, "2001:db8:1:2::/64"},
		{"[2001:db8:1:2:ffff::]:80", nil, nil, "2001:db8:1:2::/64"},
		{"[::ffff:192.0.2.7]:80", nil, nil, "192.0.2.7"},
		{"[fe80::1%eth0]:80", nil, nil, "fe80::/64"},
		{"@", nil, nil, "@"},

		// whoever is no proxy can write what it likes
		{"192.0.2.7:1", []string{"198.51.100.1"}, nil, "192.0.2.7"},
		{"192.0.2.7:1", []string{"198.51.100.1"}, proxies, "192.0.2.7"},

		{"10.1.2.3:1", []string{"198.51.100.1"}, proxies, "198.51.100.1"},
		{"10.1.2.3:1", []string{"198.51.100.1:99"}, proxies, "198.51.100.1"},
		{"[fd00::1]:1", []string{"[2001:db8::1]:99"}, proxies, "2001:db8::/64"},
		{"[::ffff:10.1.2.3]:1", []string{"198.51.100.1"}, proxies, "198.51.100.1"},
		{"10.1.2.3:1", []string{"1.1.1.1, 198.51.100.1 , 10.9.9.9,10.8.8.8"}, proxies, "198.51.100.1"},
		{"10.1.2.3:1", []string{"1.1.1.1", "198.51.100.1", "10.9.9.9"}, proxies, "198.51.100.1"},
		{"10.1.2.3:1", nil, proxies, "10.1.2.3"},
		{"10.1.2.3:1", []string{""}, proxies, "10.1.2.3"},
		{"10.1.2.3:1", []string{"10.4.4.4, 10.5.5.5"}, proxies, "10.4.4.4"}, // a client among them
		{"10.1.2.3:1", []string{"1.1.1.1, unknown, 10.5.5.5"}, proxies, "10.5.5.5"},
		{"10.1.2.3:1", []string{"1.1.1.1, nonsense"}, proxies, "10.1.2.3"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = x.from
		for _, line := range x.forwarded {
			r.Header.Add("X-Forwarded-For", line)
		}
		o := Options{TrustedProxies: x.trusted}
		if got := o.clientOf(r); got.id != x.want || got.address != x.want || got.key != "" {
			t.Errorf("%s, %q: %+v, want %s", x.from, x.forwarded, got, x.want)
		}
	}
}

func TestAClientIsItsKeyWhereThereAreSeveral(t *testing.T) {
	at := client{id: "192.0.2.7", address: "192.0.2.7"}
	if got := at.withKey("alice", true); got != (client{"key alice", "alice", "192.0.2.7"}) {
		t.Errorf("of two keys: %+v", got)
	}
	if got := at.withKey("alice", false); got != (client{"192.0.2.7", "alice", "192.0.2.7"}) {
		t.Errorf("of one key: %+v", got)
	}
}
