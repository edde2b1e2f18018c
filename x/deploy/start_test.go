package deploy

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestTheServerTakesTheseArguments starts the server as each deployment does, on other ports and
// with the demo, sends the requests of the probes, and stops it as Kubernetes and systemd do. It
// scrapes the one of Kubernetes with exactly what the annotations say.
func TestTheServerTakesTheseArguments(t *testing.T) {
	gpt := filepath.Join(t.TempDir(), "gpt")
	build := exec.Command("go", "build", "-o", gpt, "./cmd/gpt")
	build.Dir = "../.."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	pod := load[appsv1.Deployment](t, "kubernetes/deployment.yaml").Spec.Template
	t.Run("Kubernetes", func(t *testing.T) {
		start(t, gpt, pod.Spec.Containers[0].Args, func(t *testing.T, s *server) {
			if pod.Annotations["prometheus.io/scrape"] != "true" || pod.Annotations["prometheus.io/scheme"] != "" {
				t.Errorf("the annotations %v, want a scrape by HTTP", pod.Annotations)
			}
			where := s.at[pod.Annotations["prometheus.io/port"]] + pod.Annotations["prometheus.io/path"]
			status, page := get(t, where)
			if status != 200 || !strings.Contains(page, "\n"+scaledOn(t)+"{") {
				t.Errorf("a scrape of %s: status %d: %.300s", where, status, page)
			}
			if status, _ := get(t, s.address+"/metrics"); status != 401 {
				t.Errorf("/metrics on the port of the API: status %d without the key", status)
			}
			traced(t, s)
		})
	})
	for name, args := range map[string][]string{
		"systemd": strings.Fields(unit(t, "ExecStart"))[1:], "image": command(t),
	} {
		t.Run(name, func(t *testing.T) { start(t, gpt, args, func(*testing.T, *server) {}) })
	}
}

// scaledOn returns the metric that the rule in the autoscaler's comment asks for.
func scaledOn(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("kubernetes/autoscaler.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "seriesQuery: '")
	name, _, found := strings.Cut(rest, "{")
	if !found {
		t.Error("the autoscaler's comment has no seriesQuery")
	}
	return name
}

func get(t *testing.T, url string) (status int, body string) {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// unit returns a value of the unit for systemd.
func unit(t *testing.T, key string) string {
	text, err := os.ReadFile("systemd/gpt.service")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n"+key+"=")
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

// command returns the command of the image: the words of CMD.
func command(t *testing.T) []string {
	text, err := os.ReadFile("../../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nCMD [")
	list, _, _ := strings.Cut(rest, "]")
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(`", `, r) })
}

// A server runs with the arguments of a deployment, on free ports.
type server struct {
	address string
	at      map[string]string // address by the port that the deployment has
	lines   chan string       // of the log, after the first
}

// free gives each address free ports of this machine, and leaves out the model, for the demo, and
// the grace, which nobody needs here. ports has the ports that the flags had. The log is JSON, whose
// first line has all addresses.
func free(args []string) (own []string, ports map[string]string) {
	ports = map[string]string{}
	for i := 0; i < len(args); i++ {
		name, value, inOne := strings.Cut(strings.TrimPrefix(args[i], "--"), "=")
		if !inOne && i+1 < len(args) {
			value = args[i+1]
		}
		switch name {
		case "addr", "metrics-addr":
			_, ports[name], _ = strings.Cut(value, ":")
			own = append(own, "--"+name+"=127.0.0.1:0")
		case "model":
		default:
			own = append(own, args[i])
			continue
		}
		if !inOne {
			i++
		}
	}
	return append(own, "--grace=0s", "--log=json"), ports
}

func start(t *testing.T, gpt string, args []string, visit func(*testing.T, *server)) {
	own, ports := free(args)
	cmd := exec.Command(gpt, own...)
	cmd.Env = append(os.Environ(), "GPT_API_KEY=secret")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer cmd.Process.Kill()
	lines := bufio.NewScanner(stderr)
	if !lines.Scan() {
		t.Fatalf("%q: no line, %v", own, cmd.Wait())
	}
	var first struct{ Msg, Address, Metrics string }
	if err := json.Unmarshal(lines.Bytes(), &first); err != nil || first.Msg != "listening" {
		t.Fatalf("%q: %s", own, lines.Text())
	}
	s := &server{address: first.Address, at: map[string]string{
		ports["addr"]: first.Address, ports["metrics-addr"]: strings.TrimSuffix(first.Metrics, "/metrics"),
	}, lines: make(chan string, 100)}
	go func() {
		for lines.Scan() {
			s.lines <- lines.Text()
		}
	}()
	for path, want := range map[string]int{"/health": 200, "/ready": 200, "/v1/models": 401} {
		if status, _ := get(t, s.address+path); status != want {
			t.Errorf("%s: status %d, want %d", path, status, want)
		}
	}
	visit(t, s)
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want status 0", err)
	}
}
