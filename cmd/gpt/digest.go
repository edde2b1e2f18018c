package main

// The digest of the files that gpt writes and reads again as one JSON object: receipts and saved
// chats.

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"picogpt/internal/quote"
	"picogpt/internal/strictjson"
)

// contentDigest is the SHA-256 of the one line of JSON that a file without its digest would be.
func contentDigest(content any) (*string, error) {
	line, err := strictjson.Line(content)
	sum := sha256.Sum256(line)
	digest := hex.EncodeToString(sum[:])
	return &digest, err
}

// checkDigest compares the digest that a file has with that of its content. Files of earlier
// versions have none: damage may pass, and the user is told.
func (a *app) checkDigest(name string, content any, want *string) error {
	if want == nil {
		a.noteNoDigest(name)
		return nil
	}
	found, err := contentDigest(content)
	if err == nil && *found != *want {
		err = fmt.Errorf("digest: found %s of the content, want %s: the file was changed", *found,
			quote.Short(*want, 80))
	}
	return err
}

func (a *app) noteNoDigest(name string) {
	a.Notef("%s: no digest, as earlier versions wrote it: damage may pass unseen", name)
}
