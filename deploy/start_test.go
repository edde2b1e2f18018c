package deploy

import (
	"bufio"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
)

// TestTheServerTakesTheseArguments starts the server as each deployment does, on another port and
// with the demo, sends the requests of the probes, and stops it as Kubernetes and systemd do.
func TestTheServerTakesTheseArguments(t *testing.T) {
	gpt := filepath.Join(t.TempDir(), "gpt")
	build := exec.Command("go", "build", "-o", gpt, "./cmd/gpt")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	server := load[appsv1.Deployment](t, "kubernetes/deployment.yaml").Spec.Template.Spec.Containers[0]
	for name, args := range map[string][]string{
		"Kubernetes": server.Args,
		"systemd":    strings.Fields(unit(t, "ExecStart"))[1:],
		"image":      command(t),
	} {
		t.Run(name, func(t *testing.T) { start(t, gpt, args) })
	}
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
	text, err := os.ReadFile("../Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\nCMD [")
	list, _, _ := strings.Cut(rest, "]")
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(`", `, r) })
}

func start(t *testing.T, gpt string, args []string) {
	var own []string
	for i := 0; i < len(args); i++ {
		switch {
		case strings.HasPrefix(args[i], "--model="), strings.HasPrefix(args[i], "--addr="):
		case args[i] == "--addr":
			i++
		default:
			own = append(own, args[i])
		}
	}
	cmd := exec.Command(gpt, append(own, "--addr=127.0.0.1:0")...)
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
	address, ok := strings.CutPrefix(lines.Text(), "gpt: listening on ")
	if !ok {
		t.Fatalf("%q: %s", own, lines.Text())
	}
	go func() { // its other output
		for lines.Scan() {
		}
	}()
	for path, want := range map[string]int{"/health": 200, "/ready": 200, "/v1/models": 401} {
		answer, err := http.Get(address + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d", path, answer.StatusCode, want)
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("after SIGTERM: %v, want status 0", err)
	}
}
