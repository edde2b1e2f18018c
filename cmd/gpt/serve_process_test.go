//go:build unix

package main

// gpt serve as a process: its first line, its keys, its end.

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"picogpt/dev/cases"
	"picogpt/dev/fixture"
	"picogpt/dev/watchdog"
)

// A served process is gpt serve on a free port.
type served struct {
	*exec.Cmd
	t      *testing.T
	first  string // its first line on stderr
	url    string
	stderr func() string // after the first line; when the process has ended
}

func serveDemo(t *testing.T, env []string, args ...string) *served {
	t.Helper()
	return serveIn(t, "", env, args...)
}

// serveIn is serveDemo in a folder.
func serveIn(t *testing.T, dir string, env []string, args ...string) *served {
	t.Helper()
	cmd := exec.Command("gpt", append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	cmd.Dir, cmd.Env = dir, append(cmd.Environ(), env...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	startWatched(t, cmd)
	r := bufio.NewReader(pipe)
	first, err := r.ReadString('\n')
	if err != nil {
		t.Fatalf("first line %q: %v", first, err)
	}
	url, ok := strings.CutPrefix(strings.TrimSuffix(first, "\n"), "gpt: listening on ")
	if !ok {
		url = listening(t, first)["address"].(string)
	}
	rest := make(chan string, 1)
	go func() { b, _ := io.ReadAll(r); rest <- string(b) }()
	return &served{cmd, t, first, url, sync.OnceValue(func() string { return <-rest })}
}

// listening returns the fields of the first line of --log json.
func listening(t *testing.T, line string) (fields map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(line), &fields); err != nil || fields["msg"] != "listening" {
		t.Fatalf("%q: %v", line, err)
	}
	return fields
}

// post returns the status and the text of an answer, 0 and the error where there is none.
func (s *served) post(body string, header ...string) (int, string) {
	r, err := http.NewRequestWithContext(
		context.Background(),
		"POST",
		s.url+"/v1/completions",
		strings.NewReader(body),
	)
	if err != nil {
		return 0, err.Error()
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return 0, err.Error()
	}
	return a.StatusCode, string(text)
}

func TestServeGivesTheTextsOfTheCommand(t *testing.T) {
	cases.NotShort(t)
	s, gpt := serveDemo(t, nil, "--log", "off"), gpt(t)
	for _, x := range [][2]string{
		{`"temperature":0.9,"seed":5`, "--temp 0.9 --top-k 0 --seed 5"},
		{`"top_p":0.8,"seed":6,"frequency_penalty":0.5`, "--temp 1 --top-k 0 --top-p 0.8 --seed 6 --frequency-penalty 0.5"},
		{`"temperature":0,"repetition_penalty":1.2`, "--temp 0 --repeat-penalty 1.2"},
		{`"seed":7,"top_k":5,"min_p":0.1,"stop":" a","bad_words":[" the"]`,
			"--temp 1 --top-k 5 --min-p 0.1 --seed 7 --stop=\x00a --ban=\x00the"},
		{`"seed":8,"guided_regex":"[a-z ]{9,20}"`, "--temp 1 --top-k 0 --seed 8 --regex=[a-z\x00]{9,20}"},
		{`"seed":9,"logit_bias":{"13":3},"presence_penalty":1`, "--temp 1 --top-k 0 --seed 9 --logit-bias 13=3 --presence-penalty 1"},
	} {
		args := strings.Fields("--special --no-display-prompt --output json -n 20 " + x[1])
		for i := range args {
			args[i] = strings.ReplaceAll(args[i], "\x00", " ")
		}
		out := gpt(append(args, "Once<|endoftext|>One day")...)
		status, text := s.post(`{"prompt":"Once<|endoftext|>One day","max_tokens":20,` + x[0] + "}")
		want := between(out, `"text":"`, `","`)
		if got := between(text, `"text":"`, `","logprobs"`); status != 200 || got != want {
			t.Errorf("%s: %d, %q, want %q", x[0], status, got, want)
		}
	}
}

// between returns what stands between two strings.
func between(s, before, after string) string {
	_, s, _ = strings.Cut(s, before)
	s, _, _ = strings.Cut(s, after)
	return s
}

const longAnswer = `{"prompt":"Once","max_tokens":%d,"ignore_eos":true,"n":%d,"seed":1}`

// A child answers while its parent lives, whose end closes stdin, also if it is killed.
func TestAChildEndsWithItsParent(t *testing.T) {
	cmd := exec.Command("gpt", "serve", "--child", "--port", "0", "--log", "off")
	parent, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	startWatched(t, cmd)
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	s := &served{Cmd: cmd, t: t, url: strings.TrimSpace(line)}
	for range 2 {
		if status, text := s.post(`{"max_tokens":1}`); status != 200 {
			t.Fatalf("%s: %d, %s", line, status, text)
		}
	}
	parent.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the end of stdin: %v, want status 0", err)
	}
}

func TestTheStartWarnsOfAnOpenDoor(t *testing.T) {
	const warning = "level=WARN msg=\"--addr 0.0.0.0:0 without a key"
	for log, keys := range map[string][]string{"text": nil, "off": nil, "off ": {"GPT_API_KEY=secret"}} {
		s := serveDemo(t, keys, "--addr", "0.0.0.0:0", "--log", strings.TrimSpace(log))
		s.Process.Signal(syscall.SIGTERM)
		told := s.stderr()
		s.Wait()
		if strings.Contains(told, warning) != (keys == nil) ||
			strings.Contains(told, "version=") != (log == "text") {
			t.Errorf("--log %s, keys %v: %s", log, keys, told)
		}
	}
}

func TestSIGTERMDrains(t *testing.T) {
	cases.NotShort(t)
	s := serveDemo(t, nil, "--drain", "1h")
	answered := make(chan int, 1)
	go func() { status, _ := s.post(fmt.Sprintf(longAnswer, 120, 3)); answered <- status }()
	waitForText(t, s)
	s.Process.Signal(syscall.SIGTERM)
	if got := <-answered; got != 200 {
		t.Errorf("what was being written got status %d, want 200", got)
	}
	log := s.stderr()
	if got := status(s.Wait()); got != 0 {
		t.Errorf("exit status %d, want 0; %s", got, log)
	}
	if !strings.Contains(log, "path=/v1/completions status=200") {
		t.Errorf("the log: %s", log)
	}
}

// waitForText waits until a text is being written.
func waitForText(t *testing.T, s *served) {
	t.Helper()
	for end := time.Now().Add(watchdog.Wait); time.Now().Before(end); {
		a, err := http.Get(s.url + "/metrics")
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if strings.Contains(string(text), "vllm:num_requests_running{") &&
			!strings.Contains(string(text), `vllm:num_requests_running{model_name="demo"} 0`) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatal("no text is written")
}

func TestTheDrainEnds(t *testing.T) {
	s := serveDemo(t, nil, "--drain", "50ms", "--log", "off")
	go s.post(fmt.Sprintf(longAnswer, 250, 128))
	waitForText(t, s)
	s.Process.Signal(os.Interrupt)
	log := s.stderr()
	if got := status(s.Wait()); got != 0 || !strings.Contains(log, "requests were cut off") {
		t.Errorf("exit status %d: %s", got, log)
	}
}

func TestASecondSIGTERMEndsAtOnce(t *testing.T) {
	s := serveDemo(t, nil, "--drain", "1h", "--log", "off")
	go s.post(fmt.Sprintf(longAnswer, 250, 128))
	waitForText(t, s)
	s.Process.Signal(syscall.SIGTERM)
	for { // until the first one has its effect: two that come together may be one
		c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
		if err != nil {
			break
		}
		c.Close()
		time.Sleep(time.Millisecond)
	}
	s.Process.Signal(syscall.SIGTERM)
	s.stderr()
	if got := status(s.Wait()); got != 143 { // 0 where it waits for the text
		t.Errorf("exit status %d, want 143", got)
	}
}

func TestTheFirstLineIsTheAddressEvenWithV(t *testing.T) {
	s := serveDemo(t, nil, "-v", "--log", "off") // which looks at the first line
	if got, text := s.post(`{"max_tokens":1}`); got != 200 {
		t.Errorf("status %d: %s", got, text)
	}
}

// TestNotesAreLinesOfTheLog: with --log json, what -v tells of the start is JSON too.
func TestNotesAreLinesOfTheLog(t *testing.T) {
	s := serveDemo(t, nil, "-v", "--log", "json")
	s.Process.Signal(syscall.SIGTERM)
	told := s.stderr()
	s.Wait()
	for line := range strings.Lines(s.first + told) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line %q", line)
		}
	}
	if !strings.Contains(told, "vocabulary 50257") {
		t.Errorf("the notes: %s", told)
	}
}

// TestAHeaderThatDoesNotComeIsGivenUp is slow-loris.
func TestAHeaderThatDoesNotComeIsGivenUp(t *testing.T) {
	if !cases.Long {
		t.Skip("it waits for 10 s; TestABodyThatDoesNotComeIsGivenUp of package serve is its twin")
	}
	s := serveDemo(t, nil, "--log", "off")
	c, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nX: ")
	c.SetReadDeadline(time.Now().Add(watchdog.Wait))
	if answer, err := io.ReadAll(c); err != nil {
		t.Errorf("%q, %v", answer, err)
	}
}

// TestServeSpeaksTLS makes a certificate of its own.
func TestServeSpeaksTLS(t *testing.T) {
	dir := t.TempDir()
	cert, key := selfSigned(t, dir)
	s := serveDemo(t, nil, "--tls-cert", cert, "--tls-key", key, "--log", "off")
	if !strings.HasPrefix(s.url, "https://") {
		t.Errorf("the address %s", s.url)
	}
	trusted, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted)
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots}, ForceAttemptHTTP2: true,
	}}
	defer client.CloseIdleConnections()
	a, err := client.Post(
		s.url+"/v1/completions",
		"",
		strings.NewReader(`{"max_tokens":2,"stream":true}`),
	)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text, err := io.ReadAll(a.Body)
	if err != nil || a.ProtoMajor != 2 || !strings.HasSuffix(string(text), "data: [DONE]\n\n") {
		t.Errorf("HTTP/%d, %v: %s", a.ProtoMajor, err, text)
	}
}

// selfSigned writes a certificate of 127.0.0.1 and its key.
func selfSigned(t *testing.T, dir string) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true,
		BasicConstraintsValid: true, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	signed, err := x509.CreateCertificate(
		rand.Reader,
		template,
		template,
		&private.PublicKey,
		private,
	)
	if err != nil {
		t.Fatal(err)
	}
	bits, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for name, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: signed}, key: {Type: "PRIVATE KEY", Bytes: bits},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cert, key
}

// TestServeWantsTheKeyOfTheEnvironment, on the listener of the API; that of metrics wants none.
func TestServeWantsTheKeyOfTheEnvironment(t *testing.T) {
	s := serveDemo(t, []string{"GPT_API_KEY=secret"}, "--log", "json", "--metrics-addr", "127.0.0.1:0",
		"--grace", "1ms")
	first := listening(t, s.first)
	for name, want := range map[string]string{"level": "INFO", "model": "demo", "format": "f16",
		"grace": "1ms", "timeout": "10m0s", "max_queue": "256", "keys": "1"} {
		if got := fmt.Sprint(first[name]); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
	if first["version"] == "" || first["threads"] == nil || first["max_body"] == nil {
		t.Errorf("the first line is %s", s.first)
	}
	for address, want := range map[any]int{first["metrics"]: 200, s.url + "/metrics": 401} {
		a, err := http.Get(address.(string))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(a.Body)
		a.Body.Close()
		if a.StatusCode != want || (want == 200) != strings.Contains(string(text), "gpt_build_info{") {
			t.Errorf("%v: %d, want %d: %.200s", address, a.StatusCode, want, text)
		}
	}
	const body = `{"max_tokens":1,"prompt":"zebra"}`
	if got, text := s.post(body); got != 401 {
		t.Errorf("without a key %d: %s", got, text)
	}
	if got, text := s.post(body, "Authorization", "Bearer secret"); got != 200 {
		t.Errorf("with the key %d: %s", got, text)
	}
	s.Process.Signal(syscall.SIGTERM)
	log := s.stderr()
	s.Wait()
	for line := range strings.Lines(log) {
		if !json.Valid([]byte(line)) {
			t.Errorf("a line %q", line)
		}
	}
	if strings.Contains(log, "secret") || strings.Contains(log, "zebra") ||
		!strings.Contains(log, `"status":401`) {
		t.Errorf("the log: %s", log)
	}
}

// TestServeHasSeveralAdaptersAndModels: requests choose among them, and get the texts of the command
// with the same adapter.
func TestServeHasSeveralAdaptersAndModels(t *testing.T) {
	cases.NotShort(t)
	lora, err := filepath.Abs("../../checkpoint/testdata/adapters/plain")
	if err != nil {
		t.Fatal(err)
	}
	s, gpt := serveDemo(t, nil, "-m", "first=demo", "--adapter", "whole="+lora, "--adapter",
		"half="+lora+":0.5", "-m", "second=demo", "--adapter-bytes", "1MB"), gpt(t)
	for name, args := range map[string][]string{"first": {}, "first:whole": {"--adapter", lora},
		"half": {"--adapter", lora + ":0.5"}, "second": {}} {
		args = append(args, "-m", "demo", "--special", "--no-display-prompt", "--output", "json", "-n", "9",
			"--temp", "1", "--top-k", "0", "--seed", "3", "One day")
		want := between(gpt(args...), `"text":"`, `","`)
		status, text := s.post(`{"model":"` + name + `","prompt":"One day","max_tokens":9,"seed":3}`)
		if got := between(text, `"text":"`, `","logprobs"`); status != 200 || got != want {
			t.Errorf("%s: %d, %q, want %q", name, status, got, want)
		}
	}
	if err := s.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.Wait(); err != nil {
		t.Error(err)
	}
	for _, want := range []string{"gpt: model second: this model has no chat template",
		"adapter half: copies of 786 kB, made at first use",
		"model second: weights of 14.5 MB, loaded at first use", `"adapter is loaded" adapter=whole`,
		`"model is loaded" model=second`} {
		if told := s.stderr(); !strings.Contains(told, want) {
			t.Errorf("stderr has no %q:\n%s", want, told)
		}
	}
}

// TestAModelThatIsGoneCostsNoOther: of two that do not fit together, the folder of one is removed.
func TestAModelThatIsGoneCostsNoOther(t *testing.T) {
	kept, gone := t.TempDir(), t.TempDir()
	for _, dir := range []string{kept, gone} {
		err := fixture.Write(dir, fixture.Options{Vocab: 257})
		if err := cmp.Or(err, fixture.ByteTokenizer(dir)); err != nil {
			t.Fatal(err)
		}
	}
	s := serveDemo(t, nil, "-m", "first=demo", "-m", "kept="+kept, "-m", "gone="+gone, "--model-bytes", "90kB")
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name   string
		status int
	}{{"kept", 200}, {"gone", 500}, {"kept", 200}} {
		if status, text := s.post(`{"model":"` + x.name + `","prompt":"a","max_tokens":1}`); status != x.status {
			t.Errorf("%s: %d %s, want %d", x.name, status, text, x.status)
		}
	}
	s.Process.Signal(syscall.SIGTERM)
	told := s.stderr()
	s.Wait()
	if n := strings.Count(told, `"model is loaded" model=kept`); n != 1 {
		t.Errorf("%d loads of the model that was kept, want 1:\n%s", n, told)
	}
	if want := "error=\"" + gone + ": no such file"; !strings.Contains(told, want) {
		t.Errorf("stderr has no %q:\n%s", want, told)
	}
}
