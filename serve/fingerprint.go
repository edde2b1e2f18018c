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
// checkpoint's files.
func FingerprintOf(m *model.Model, weights, tokenizer string) string {
	all := sha256.Sum256(fmt.Appendln(nil, weights, tokenizer, m.Format(), m.CacheFormat()))
	return "fp_" + hex.EncodeToString(all[:8])
}
