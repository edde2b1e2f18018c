package serve

// What tells models apart whose texts differ.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"picogpt/model"
)

// FingerprintOf returns an Options.Fingerprint that tells models and number formats apart: with the
// same one, and the same seed, the texts are the same. weights and tokenizer are the digests of the
// checkpoint's files, vectors those of Options.Steer.
func FingerprintOf(m *model.Model, weights, tokenizer string, vectors ...Steering) string {
	all := sha256.New()
	fmt.Fprintln(all, weights, tokenizer, m.Format(), m.CacheFormat())
	writeSteering(all, vectors)
	if c := m.Config(); c.Generation.EOSTokenIDs != nil { // which no digest covers
		fmt.Fprintln(all, c.EndTokens())
	}
	return "fp_" + hex.EncodeToString(all.Sum(nil)[:8])
}
