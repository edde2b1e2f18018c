package cli

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"picogpt/internal/fault"
)

// settled parses a line of a command with settings, whose file has a text.
func settled(t *testing.T, file string, args ...string) (*Line, error) {
	t.Helper()
	c := &Command{
		Name: "serve",
		Flags: func(f *Flags) {
			f.Add(new(string), "--name NAME [x]", "a text")
			f.Add(new(*int), "--port PORT", "a number")
			f.Add(new(time.Duration), "--wait TIME [5s]", "a time")
			f.Add(new([]string), "--origin ORIGIN", "a list")
			f.Add(new(bool), "--loud", "a switch")
			f.Add(new(string), "--key KEY", "a secret").Secret = true
		},
		Settings: &Settings{Prefix: "CLI_TEST_", Read: func(...string) ([]string, error) {
			return []string{file}, nil
		}},
		Run: func(*Flags) error { return nil },
	}
	root := New(&Command{Name: "prog", Commands: []*Command{c}})
	return Parse(root, append([]string{"serve", "--config", "f"}, args...))
}

// without are the lines of a text without their comments.
func without(config string) string {
	var b strings.Builder
	for line := range strings.Lines(config) {
		line, _, _ = strings.Cut(line, " # ")
		b.WriteString(strings.TrimSpace(line) + "\n")
	}
	return b.String()
}

// What is printed is read as the same values, whatever they are.
func TestConfigIsReadAgain(t *testing.T) {
	names := []string{"", "a b", `"q" \ 'q'`, "a\n\tb\x00\x1b[1m", "é 日本 🙂", "#", "]\r\n", "\u2028 <&>", "5", "true"}
	for _, name := range names {
		for _, args := range [][]string{{"--name=" + name}, {"--origin=" + name, "--origin=b", "--port=0x10"},
			{"--loud=no", "--port=-3", "--wait=1m30s"}, {"--loud"}, {"--origin=" + name}} {
			first, err := settled(t, "", args...)
			if err != nil {
				t.Fatal(err)
			}
			config := first.Flags.Config()
			second, err := settled(t, config)
			if err != nil {
				t.Errorf("%q: %v of %s", args, err, config)
				continue
			}
			if again := second.Flags.Config(); without(again) != without(config) {
				t.Errorf("%q: %s, want %s", args, again, config)
			}
		}
	}
	for _, odd := range []string{"\xff", "\x7f"} { // TOML has neither
		line, err := settled(t, "", "--name", odd, "--key", "s3cret")
		if err != nil {
			t.Fatal(err)
		}
		config := line.Flags.Config()
		if _, err := settled(t, config); err != nil || strings.Contains(config, "s3cret") ||
			!strings.Contains(config, `# name = "***" # flag, not printed`) {
			t.Errorf("%v of %s", err, config)
		}
	}
}

// A file is refused in a line, with little work, whatever is in it.
func TestHostileFiles(t *testing.T) {
	const n = 1 << 18
	for _, file := range []string{
		"name = " + strings.Repeat("[", n), "name = " + strings.Repeat("{name = ", n/8),
		strings.Repeat("name.", n/8) + "name = 1", strings.Repeat("[name]\n", n/8),
		"origin = [" + strings.Repeat("1,", n), "\x00", "name", "name =", "= 1", "[", "[[name]]", "[]",
		"name = \"\\ud800\"", "name = {a = 1}", "origin = [['a']]", "name = 1979-05-27", "'' = 1",
		"name = ['a']", "key = 5", "origin = [{key = 's3cret'}]", "port = true", "key = s3cret", "loud = 'x'",
	} {
		_, err := settled(t, file)
		if err == nil || !strings.HasPrefix(err.Error(), "f line 1: ") || len(err.Error()) > 300 ||
			strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%.40q: %.400v", file, err)
		}
		if _, ok := err.(fault.Usage); !ok && fault.HintOf(err) == "" {
			t.Errorf("%.40q: %T", file, err)
		}
	}
	var b strings.Builder
	b.WriteString("\ufefforigin = [ # a list\r\n")
	for i := range 1000 {
		fmt.Fprintf(&b, "\t'%d',\r\n", i)
	}
	line, err := settled(t, b.String()+"]\r\nport = 1_0")
	if err != nil || !strings.Contains(line.Flags.Config(), `"998","999"] # f line 1: origin`) ||
		!strings.Contains(line.Flags.Config(), "port = \"1_0\" # f line 1003: port") {
		t.Errorf("a long list: %v", err)
	}
}
