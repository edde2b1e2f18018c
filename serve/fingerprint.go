package serve

// What tells models apart whose texts differ.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"picogpt/model"
)

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
	return "fp_" + hex.EncodeToString(all.Sum(nil)[:8])
}
