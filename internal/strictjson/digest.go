package strictjson

// The digest of a file that holds one JSON object and is read again: a receipt, a saved chat.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"picogpt/internal/quote"
)

// Digest returns the SHA-256 of content as the one line of JSON of a file without a digest.
func Digest(content any) (*string, error) {
	line, err := Line(content)
	sum := sha256.Sum256(line)
	digest := hex.EncodeToString(sum[:])
	return &digest, err
}

// CheckDigest compares the digest that a file has with that of its content. Files of earlier
// versions have none: damage may go unseen, and NoDigest tells the user.
func CheckDigest(content any, want *string) error {
	if want == nil {
		return nil
	}
	found, err := Digest(content)
	if err == nil && *found != *want {
		err = fmt.Errorf("digest: found %s of the content, want %s: the file was changed", *found,
			quote.Short(*want, 80))
	}
	return err
}

// NoDigest is the format of a note about a file of this name.
const NoDigest = "%s: no digest, as earlier versions wrote it: damage may pass unseen"
