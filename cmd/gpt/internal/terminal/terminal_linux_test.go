package terminal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestStopIsUndoneAtOnce continues the group as soon as another of its processes has stopped, as a
// shell does that runs "fg" in a script. The process that stops the group must go on each time.
func TestStopIsUndoneAtOnce(t *testing.T) {
	const rounds = 300
	if os.Getenv("STOPS_ITS_GROUP") != "" {
		for i := range rounds {
			stop()
			fmt.Println("round", i)
		}
		os.Exit(0)
	}

	other := exec.Command("sleep", "1000")
	other.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	group := other.Process.Pid
	stopper := exec.Command(os.Args[0], "-test.run=^TestStopIsUndoneAtOnce$")
	stopper.Env = append(os.Environ(), "STOPS_ITS_GROUP=1")
	stopper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pgid: group}
	out, err := stopper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := stopper.Start(); err != nil {
		t.Fatal(err)
	}

	continued := make(chan int)
	go func() {
		times := 0
		for {
			var status unix.WaitStatus
			pid, err := unix.Wait4(group, &status, unix.WUNTRACED, nil)
			if err == unix.EINTR {
				continue
			}
			if err != nil || pid != group || !status.Stopped() {
				break
			}
			unix.Kill(-group, unix.SIGCONT)
			times++
		}
		continued <- times
	}()
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(&said, lines.Text())
	}
	if err := stopper.Wait(); err != nil {
		t.Fatal(err)
	}
	other.Process.Kill()
	if times := <-continued; times == 0 || times > rounds {
		t.Errorf("the other process was continued %d times of %d", times, rounds)
	}
	if got := strings.Count(said.String(), "round"); got != rounds {
		t.Errorf("%d rounds, want %d", got, rounds)
	}
}
