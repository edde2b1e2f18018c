package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The whole run ends in time even if every part takes all its time.
func TestSharesAreWithinTheLimit(t *testing.T) {
	for _, short := range []bool{false, true} {
		sum := 0 * time.Second
		names := map[string]bool{}
		for _, p := range parts(short, 64, "/kit", "/tmp/kit") {
			sum += p.share
			if p.share < least || names[p.name] {
				t.Errorf("part %s: share %v, named before %v", p.name, p.share, names[p.name])
			}
			names[p.name] = true
		}
		if sum+2*grace > limit {
			t.Errorf("short %v: shares of %v, and %v to end, want %v at most", short, sum, 2*grace,
				limit)
		}
	}
}

// A processor of 16 cores is measured with 1, 2, 4, 8 and 16 of them, also where there is no GPU; a
// smaller one is not.
func TestManyCoresAreMeasured(t *testing.T) {
	for _, short := range []bool{false, true} {
		for _, cores := range []int{2, 15, 16, 64} {
			var found []string
			for _, p := range parts(short, cores, "/kit", "/tmp/kit") {
				last := p.args[max(0, len(p.args)-1):]
				if len(last) == 0 || !strings.HasPrefix(last[0], "--threads=") {
					continue
				}
				found = append(found, strings.TrimPrefix(last[0], "--threads="))
				of, small := slices.Contains(p.args, "--random=gpt2"),
					slices.Contains(p.args, "--model=/tmp/kit/small")
				bench := slices.Equal(p.args[:3], []string{"/kit/gpt", "bench", "--json"})
				if !p.anywhere || !slices.Contains(p.args, "--device=cpu") || of == short ||
					small != short || !bench {
					t.Errorf("short %v: %q, anywhere %v", short, p.args, p.anywhere)
				}
			}
			want := "1 2 4 8 16"
			if cores < 16 {
				want = ""
			}
			if got := strings.Join(found, " "); got != want {
				t.Errorf("short %v, %d cores: measured with %q threads, want %q", short, cores, got,
					want)
			}
		}
	}
}

// fakes are parts of ten seconds each; the name says what a part does.
func fakes(names ...string) (all []part) {
	for _, name := range names {
		all = append(all, part{name: name, share: 10 * time.Second, args: []string{name, deviceName},
			anywhere: name != "needs a device"})
	}
	return all
}

const found = `{"device":"cpu","name":"the processor","probe":"passed"}
{"device":"cuda:0","name":"Old GPU","platform":"CUDA 11","probe":"refused"}
{"device":"cuda:1","name":"New GPU","platform":"CUDA 12","probe":"passed"}
{"device":"opencl:0","name":"New GPU","platform":"NVIDIA CUDA","probe":"passed"}
`

// fake does what a part is named, in the time of a synctest bubble.
func fake(ctx context.Context, p *part, device string) ([]byte, error) {
	switch p.name {
	case "probe":
		return []byte(found), nil
	case "hangs":
		<-ctx.Done()
		return []byte("begun\n"), ctx.Err()
	case "fails":
		time.Sleep(time.Second)
		return []byte("FAIL\n"), errors.New("exit status 1")
	case "is absent":
		return nil, fmt.Errorf("python3 %w", errSkip)
	}
	time.Sleep(time.Second)
	return []byte("on " + device + "\n"), nil
}

func statuses(t *testing.T, file string) (all []string, r result) {
	t.Helper()
	r, err := readResult(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Parts {
		all = append(all, p.Status)
	}
	return all, r
}

func TestAPartThatFailsDoesNotStopTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "r.json")
		want := []string{"ok", "failed", "late", "skipped", "late", "ok", "ok"}
		var known int
		r := runner{to: file, log: io.Discard}
		r.exec = func(ctx context.Context, p *part, device string) ([]byte, error) {
			// what was known before this part is written
			if got, r := statuses(t, file); !slices.Equal(got, want[:known]) || r.Parts == nil {
				t.Errorf("before %s: %q, want %q", p.name, got, want[:known])
			}
			known++
			return fake(ctx, p, device)
		}
		start := time.Now()
		err := r.run(t.Context(), fakes("probe", "fails", "hangs", "is absent", "hangs", "works",
			"needs a device"))
		got, result := statuses(t, file)
		if err != nil || !slices.Equal(got, want) || !result.Done {
			t.Errorf("error %v, %q, done %v, want %q", err, got, result.Done, want)
		}
		// a part that hangs has its share and what was left: until 30 s, and until 50 s
		if took := time.Since(start); took != 52*time.Second || result.Seconds != 52 {
			t.Errorf("took %v, %v s, want 52 s", took, result.Seconds)
		}
		last := result.Parts[6]
		if last.Output != "on cuda:1\n" || last.Command[1] != "cuda:1" || result.Name != "New GPU" {
			t.Errorf("%q by %q on %q, want the first GPU that passed", last.Output, last.Command,
				result.Name)
		}
		if hung := result.Parts[2]; hung.Output != "begun\n" || hung.Seconds != 29 {
			t.Errorf("%q after %v s, want what was printed until 29 s", hung.Output, hung.Seconds)
		}
	})
}

func TestARunThatIsStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "r.json")
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		r := runner{to: file, log: io.Discard, exec: fake}
		err := r.run(ctx, fakes("works", "hangs", "works"))
		got, result := statuses(t, file)
		if err == nil || !slices.Equal(got, []string{"ok", "stopped"}) || result.Done {
			t.Errorf("error %v, %q, done %v", err, got, result.Done)
		}
	})
}

func TestWhichDevice(t *testing.T) {
	for _, c := range []struct{ named, found, want, name string }{
		{"", found, "cuda:1", "New GPU"},
		{"CUDA:0", found, "cuda:0", "Old GPU"},
		{"opencl", found, "opencl:0", "New GPU"},
		{"new", found, "cuda:1", "New GPU"},
		{"radeon", found, "radeon", ""},
		{"", `{"device":"cuda:0","name":"Old GPU","probe":"refused"}`, "cuda:0", "Old GPU"},
		{"", `{"device":"cpu","name":"the processor","probe":"passed"}`, "", ""},
		{"", "", "", ""},
	} {
		r := runner{to: filepath.Join(t.TempDir(), "r.json"), log: io.Discard,
			result: result{Device: c.named}}
		ran := false
		r.exec = func(_ context.Context, p *part, _ string) ([]byte, error) {
			ran = ran || p.name != "probe"
			return []byte(c.found), nil
		}
		err := r.run(t.Context(), fakes("probe", "needs a device"))
		if err != nil || r.result.Device != c.want || r.result.Name != c.name ||
			ran != (c.want != "") {
			t.Errorf("%q: device %q, %q, error %v, want %q, %q", c.named, r.result.Device,
				r.result.Name, err, c.want, c.name)
		}
	}
}

func TestProcesses(t *testing.T) {
	work := t.TempDir()
	run := processes{dir: t.TempDir(), work: work, grace: 10 * time.Millisecond}.run
	sh := func(ctx context.Context, script string) (string, error) {
		out, err := run(ctx, &part{args: []string{"sh", "-c", script}}, "cuda:0")
		return string(out), err
	}
	if out, err := sh(t.Context(), "echo $GPT_DEVICE; pwd >&2"); err != nil ||
		!strings.HasPrefix(out, "cuda:0\n/") {
		t.Errorf("%q, error %v", out, err)
	}
	if _, err := sh(t.Context(), "exit 77"); !errors.Is(err, errSkip) {
		t.Errorf("status 77: error %v", err)
	}
	if _, err := sh(t.Context(), "exit 3"); err == nil || err.Error() != "exit status 3" {
		t.Errorf("status 3: error %v", err)
	}
	if _, err := run(t.Context(), &part{args: []string{"there-is-no-such"}}, ""); !errors.Is(err,
		errSkip) {
		t.Errorf("no such program: error %v", err)
	}
	// a home that is none: pocl wants a directory to compile in
	t.Setenv("HOME", "/dev/null")
	t.Setenv("XDG_CACHE_HOME", "")
	if out, err := sh(t.Context(), "echo $XDG_CACHE_HOME"); out != work+"\n" {
		t.Errorf("%q, error %v, want the directory of the run", out, err)
	}
	// a process that does not end is killed, and its output is kept
	ctx, cancel := context.WithCancel(t.Context())
	begun := filepath.Join(t.TempDir(), "begun")
	go func() {
		for _, err := os.Stat(begun); err != nil; _, err = os.Stat(begun) {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	out, err := sh(ctx, "trap '' INT; echo begun; >$TMPDIR/weights; >"+begun+"; exec sleep 1000")
	if out != "begun\n" || !errors.Is(err, context.Canceled) {
		t.Errorf("%q, error %v", out, err)
	}
	if left, err := os.ReadDir(work); len(left) > 0 || err != nil {
		t.Errorf("left behind: %q, error %v", left, err)
	}
}

func TestOutputIsTakenApart(t *testing.T) {
	var d done
	d.read([]byte("=== RUN   TestA\n    --- PASS: TestA/b (0.1s)\n--- PASS: TestA (0.1s)\n" +
		"{\"model\":\"gpt2\"}\n{no JSON\n--- FAIL: TestB (0s)\n    --- FAIL: TestB/c (0s)\n\xffend\n"))
	const want = "--- PASS: TestA (0.1s)\n{no JSON\n--- FAIL: TestB (0s)\n" +
		"    --- FAIL: TestB/c (0s)\n?end\n"
	if d.Output != want || len(d.Rows) != 1 || d.Tests["PASS"] != 2 || d.Tests["FAIL"] != 2 {
		t.Errorf("%q, %d rows, %v, want %q", d.Output, len(d.Rows), d.Tests, want)
	}
	d = done{}
	d.read([]byte("first\n" + strings.Repeat("ä\n", 10_000) + "last\n"))
	if len(d.Output) > mostOutput+100 || !strings.HasPrefix(d.Output, "first\n") ||
		!strings.HasSuffix(d.Output, "ä\nlast\n") || !strings.Contains(d.Output, "…(5435 bytes)…") {
		t.Errorf("%d bytes, %.20q", len(d.Output), d.Output)
	}
	for output, want := range map[string]string{
		"=== RUN   TestA\n--- PASS: TestA (0s)\n=== RUN   TestB\nSIGQUIT: quit\n": "TestB",
		"=== RUN   TestA\n=== RUN   TestA/b\n":                                    "TestA/b",
		"=== RUN   TestA\n--- FAIL: TestA (0s)\nFAIL\n":                           "",
	} {
		d = done{}
		if d.read([]byte(output)); d.Running != want {
			t.Errorf("%q: %q was running, want %q", output, d.Running, want)
		}
	}
}

// A full disk stops no part; the result then goes to stdout.
func TestAResultThatCannotBeWritten(t *testing.T) {
	dir := t.TempDir()
	var stdout bytes.Buffer
	r := runner{to: filepath.Join(dir, "there", "r.json"), stdout: &stdout, log: io.Discard}
	r.exec = func(_ context.Context, p *part, _ string) ([]byte, error) {
		if p.name == "fills" {
			if err := os.RemoveAll(filepath.Join(dir, "there")); err != nil {
				t.Error(err)
			}
		}
		return []byte("ran\n"), nil
	}
	if err := os.Mkdir(filepath.Dir(r.to), 0o777); err != nil {
		t.Fatal(err)
	}
	err := r.run(t.Context(), fakes("works", "fills", "works"))
	var got result
	if e := json.Unmarshal(stdout.Bytes(), &got); e != nil || err == nil ||
		!strings.HasPrefix(err.Error(), "the result is on stdout: ") || len(got.Parts) != 3 || !got.Done {
		t.Errorf("error %v; stdout %q", err, stdout.String())
	}
	stdout.Reset()
	if err := r.run(t.Context(), fakes("works")); err == nil || len(r.result.Parts) > 0 ||
		stdout.Len() > 0 {
		t.Errorf("a folder that was never there: error %v, %d parts", err, len(r.result.Parts))
	}
}

// What is compared with is what SPEED.md says.
func TestPredictionsAreThoseOfSpeed(t *testing.T) {
	b, err := os.ReadFile("../../../SPEED.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## On a GPU\n")
	_, table, ok := strings.Cut(section, "| H200, predicted, not measured | f16 | q8 |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	if !ok {
		t.Fatal("SPEED.md has no table of predictions")
	}
	rows := map[int]string{0: "prompt of 512", 1: "batch 1, graph", 64: "64 sessions, graph"}
	for _, p := range predictions {
		model := map[string]string{"gpt2": "124M", "gpt2-xl": "1.5B"}[p.model]
		found := slices.ContainsFunc(strings.Split(table, "\n"), func(line string) bool {
			return strings.Contains(line, model) && strings.Contains(line, rows[p.sessions]) &&
				strings.Contains(line, p.text)
		})
		if !found {
			t.Errorf("%s, %s, %d sessions: SPEED.md does not say %s", p.model, p.dtype, p.sessions,
				p.text)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Chdir(t.TempDir())
	file := "h200.json"
	r := result{Name: "NVIDIA H200", Version: "v9"}
	var p done
	p.read([]byte(`{"model":"random gpt2","dtype":"f16","texts":[` +
		`{"sessions":1,"tokens_per_s":1800.4},{"sessions":8,"tokens_per_s":9000}],"prompt":{"tokens":512,"ms":3.84}}
{"peer":"PyTorch 3","model":"gpt2","dtype":"f16","texts":[{"sessions":1,"tokens_per_s":1500}]}
{"device":"cuda:0"}
`))
	r.Parts = []done{p}
	if err := r.write(file); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := command([]string{"compare", file}, &out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"| what | predicted for an H200 | NVIDIA H200, v9, h200 | PyTorch 3 |",
		"| 124M, f16, alone, tokens/s | 3,100 | 1800 | 1500 |",
		"| 124M, f16, 8 texts, tokens/s |  | 9000 |  |",
		"| 124M, f16, prompt of 512, ms |  | 3.8 |  |",
		"| 1.5B, q8, alone, tokens/s | 670 |  |  |",
	} {
		if !strings.Contains(out.String(), line+"\n") {
			t.Errorf("no line %q in\n%s", line, out.String())
		}
	}
	if err := command([]string{"compare", file + ".none"}, &out); err == nil {
		t.Error("a file that is not there: no error")
	}
	if err := command([]string{"run", "--help"}, &out); err != nil { // no name of a result
		t.Errorf("--help: error %v", err)
	}
	if files, err := os.ReadDir("."); len(files) != 1 {
		t.Errorf("%q, error %v, want %s alone", files, err, file)
	}
	for _, args := range [][]string{nil, {"compare"}, {"walk"}, {"run", "a", "b"}} {
		if err := command(args, &out); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v", args, err)
		}
	}
}
