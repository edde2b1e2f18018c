//go:build unix

package main

// Prompts of any length.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"picogpt/cmd/gpt/internal/textio"
	"picogpt/dev/cases"
	"picogpt/dev/watchdog"
	"picogpt/internal/lines"
	"picogpt/tokenizer"
)

// writeOn runs gpt generate for a prompt on stdin and returns its JSON objects.
func writeOn(t *testing.T, prompt string, args ...string) (samples []lines.Sample) {
	t.Helper()
	args = append([]string{"generate", "--temp", "0", "--output", "json"}, args...)
	cmd := exec.Command("gpt", args...)
	cmd.Stdin = strings.NewReader(prompt)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("gpt %v: %v", args, err)
	}
	for line := range bytes.Lines(out) {
		var s lines.Sample
		if err := json.Unmarshal(line, &s); err != nil {
			t.Fatal(err)
		}
		samples = append(samples, s)
	}
	return samples
}

// TestALongPromptIsWhatItsNewestTokensAre compares with the ids of encoding the whole, of which as
// many are given as --overflow keeps. Long runs have more ids than are shown.
func TestALongPromptIsWhatItsNewestTokensAre(t *testing.T) {
	cases.NotShort(t)
	const context, fresh = 256, 5 // n_positions of the demo
	random := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 150_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for i, c := range []struct{ name, text string }{
		{"many words", strings.Repeat("a ", cases.Of(80_000, 1_200_000))},
		{"one word", strings.Repeat("a", cases.Of(100_000, 300_000))},
		{"spaces", "x" + strings.Repeat(" ", 150_000)},
		{"random bytes", string(noise)},
		{"wide runes", strings.Repeat("日本", cases.Of(20_000, 60_000)) + "\xe6\x97"},
		{"special tokens", strings.Repeat("<|endoftext|>Once upon a time", cases.Of(5000, 30_000))},
	} {
		ids, err := tokenizer.GPT2().WithSpecial().Encode(c.text)
		if err != nil {
			t.Fatal(err)
		}
		for j, overflow := range []string{"truncate", "slide"} {
			if (i%2 != j || i/2 == 1) && !cases.Long {
				continue
			}
			keep := []int{context - fresh + 1, context / 2}[j]
			flags := []string{"-n", fmt.Sprint(fresh), "--overflow", overflow, "--samples", "2"}
			got := writeOn(t, c.text, append(flags, "--special")...)
			newest := strings.Trim(fmt.Sprint(ids[len(ids)-keep:]), "[]")
			want := writeOn(t, "", append(flags, "--tokens", newest)...)
			for i, s := range got {
				if !slices.Equal(s.IDs, want[i].IDs) || s.Dropped != len(ids)-keep {
					t.Errorf("%s, %s: %v, %d dropped; want %v, %d",
						c.name, overflow, s.IDs, s.Dropped, want[i].IDs, len(ids)-keep)
				}
				shown := ids[max(0, len(ids)-textio.ShownIDs):]
				if !slices.Equal(s.PromptIDs, shown) {
					t.Errorf("%s, %s: %d prompt_ids, want the newest %d",
						c.name, overflow, len(s.PromptIDs), len(shown))
				}
			}
		}
	}
}

// TestAPromptThatIsTooLongIsNotReadToItsEnd gives gpt a stdin that never ends.
func TestAPromptThatIsTooLongIsNotReadToItsEnd(t *testing.T) {
	cases.NotShort(t)
	for _, unit := range []string{"a", " ", "Once upon a time ", "日"} {
		cmd := exec.Command("gpt", "generate", "-n", "1")
		stdin, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var stderr strings.Builder
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		watchdog := time.AfterFunc(watchdog.Wait, func() { cmd.Process.Kill() })
		written, part := 0, []byte(strings.Repeat(unit, 4096))
		for err == nil {
			var n int
			n, err = stdin.Write(part)
			written += n
		}
		err = cmd.Wait()
		watchdog.Stop()
		want := "gpt: prompt of more than 256 tokens: want at most 256 (n_positions)\n"
		if status(err) != 1 || !strings.HasPrefix(stderr.String(), want) {
			t.Errorf("%q for ever: %v, %q; want %q", unit, err, stderr.String(), want)
		}
		if written > 1<<20 {
			t.Errorf("%q for ever: %d bytes were taken", unit, written)
		}
	}
}
