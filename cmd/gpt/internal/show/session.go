package show

// What a file of a session holds.

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"picogpt/internal/quote"
	"picogpt/model"
)

// A Session is the description of a file that keeps a session.
type Session struct {
	Model      string `json:"model"` // digest
	Format     string `json:"format"`
	Cache      string `json:"cache"`
	Arithmetic int    `json:"arithmetic"`
	Tokens     []int  `json:"tokens"`
	Note       string `json:"note,omitempty"` // gpt chat's is the conversation
	Bytes      int64  `json:"bytes"`
}

// SessionOf describes a file of that size.
func SessionOf(s *model.Snapshot, size int64) Session {
	return Session{s.Model, s.Weights, s.Cache, s.Arithmetic, s.Tokens, string(s.Note), size}
}

// Text lays the description out for people.
func (s Session) Text() []byte {
	var b bytes.Buffer
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "model\t%s\n", s.Model)
	fmt.Fprintf(w, "format\t%s\n", Formats(s.Format, s.Cache))
	fmt.Fprintf(w, "arithmetic\t%d\n", s.Arithmetic)
	fmt.Fprintf(w, "tokens\t%d\n", len(s.Tokens))
	if s.Note != "" {
		fmt.Fprintf(w, "note\t%s\n", quote.LongSize(int64(len(s.Note))))
	}
	fmt.Fprintf(w, "bytes\t%d\t%s\n", s.Bytes, quote.LongSize(s.Bytes))
	w.Flush()
	return b.Bytes()
}
