package serve

// Who shares what is cached: evaluated prompts and compiled forms.

import "crypto/sha256"

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
