// The programs of the tests, and a pipeline for them.

package worker

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"

	"picogpt/x/corpus/internal/testprogram"
)

// testVersion is the version of all processes of the tests but those that say another.
const testVersion = "v1"

// TestMain makes this binary all the programs of the tests: a worker, a pool, a Prism.
func TestMain(m *testing.M) {
	version := testVersion
	if handled, status := Main(version, os.Args[1:], os.Stderr); handled {
		os.Exit(status)
	}
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "prism":
			testprogram.ServePrism()
			return
		case "pool":
			ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
			defer stop()
			if err := Pool(ctx, "127.0.0.1:0", os.Stderr); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	beam.Init()
	os.Exit(m.Run())
}

func startPrism(t *testing.T) *testprogram.Program {
	return testprogram.Prism(t, exec.Command(os.Args[0], "prism"))
}

func startPool(t *testing.T) *testprogram.Program {
	return testprogram.Pool(t, exec.Command(os.Args[0], "pool"))
}

// command is the configuration of the environment PROCESS.
func command(name string) string { return fmt.Sprintf(`{"command": %q}`, name) }

// A place is where a pipeline of the tests runs, as flags of Beam.
type place struct{ endpoint, environment, config string }

func (pl place) submit(ctx context.Context, p *beam.Pipeline) (beam.PipelineResult, error) {
	*runners.Runner, *jobopts.JobName, *jobopts.Endpoint = "universal", "", pl.endpoint
	*jobopts.EnvironmentType, *jobopts.EnvironmentConfig = pl.environment, pl.config
	return Submit(ctx, testVersion, p)
}

// A toy leaves a file that is named for its process, and then returns or never does.
type toy struct {
	Dir     string
	Forever bool
}

func init() {
	register.DoFn2x1[context.Context, []byte, error](&toy{})
}

func (f *toy) ProcessElement(ctx context.Context, _ []byte) error {
	beam.NewCounter("toy", "elements").Inc(ctx, 1)
	name := filepath.Join(f.Dir, strconv.Itoa(os.Getpid()))
	if err := os.WriteFile(name, nil, 0o644); err != nil {
		return err
	}
	for f.Forever {
		time.Sleep(time.Hour)
	}
	return nil
}

func (f *toy) pipeline() *beam.Pipeline {
	p := beam.NewPipeline()
	s := p.Root()
	beam.ParDo0(s, f, beam.Reshuffle(s, beam.Impulse(s)))
	return p
}

// pid waits for the process that does the work.
func (f *toy) pid(t *testing.T) int {
	t.Helper()
	for range 600 {
		if files, _ := os.ReadDir(f.Dir); len(files) > 0 {
			pid, err := strconv.Atoi(files[0].Name())
			if err != nil || len(files) > 1 {
				t.Fatalf("%v, %v", files, err)
			}
			return pid
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatal("no worker works")
	return 0
}
