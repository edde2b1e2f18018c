package serve

// API keys: who has which, and the end of requests whose key is no longer one.

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

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
