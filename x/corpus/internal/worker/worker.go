// Package worker runs a pipeline's work in other processes, which one of Beam's runners starts.
//
// Workers run the same binary as the submitter, so that a runner need not bring code to them:
//
//	corpus --id=... --provision_endpoint=...   a worker, as containers and PROCESS start one
//	corpus pool --address localhost:50000      starts such workers if a runner asks for EXTERNAL
//
// [Main] is the first and [Pool] the second; [Submit] runs a pipeline where Beam's flags say.
package worker

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
)

// Main must be called before anything else. If the arguments are those of Beam's container contract
// (--id=... and endpoints), the process is a worker until the runner ends it or it receives
// SIGTERM, and handled is true. The version distinguishes builds for different platforms.
func Main(version string, args []string, stderr io.Writer) (handled bool, status int) {
	called := func(arg string) bool { return strings.HasPrefix(arg, "--id=") }
	if len(args) == 0 || !strings.HasPrefix(args[0], "--") || !slices.ContainsFunc(args, called) {
		return false, 0
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	err := work(ctx, version, args)
	if err != nil && ctx.Err() == nil {
		fmt.Fprintf(stderr, "corpus: worker: %v\n", err)
		return true, 1
	}
	return true, 0
}

// A contract is the runner's arguments for a worker that it starts.
type contract struct {
	id, provision, control, logging string
}

// parse reads the arguments. The endpoints are usually in the answer of the provision service.
func parse(args []string) (*contract, error) {
	var c contract
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&c.id, "id", "", "")
	flags.StringVar(&c.provision, "provision_endpoint", "", "")
	flags.StringVar(&c.control, "control_endpoint", "", "")
	flags.StringVar(&c.logging, "logging_endpoint", "", "")
	flags.String("artifact_endpoint", "", "") // ignored: there is nothing to fetch
	flags.String("semi_persist_dir", "", "")  // ignored: nothing is stored
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	c.id = unquote(c.id)
	if c.id == "" || c.provision == "" {
		return nil, errors.New("want --id and --provision_endpoint, as Beam's container contract has them")
	}
	return &c, nil
}

// unquote removes the quotes that Prism puts around the id of a process.
func unquote(id string) string {
	if n := len(id); n >= 2 && id[0] == '\'' && id[n-1] == '\'' {
		return id[1 : n-1]
	}
	return id
}

// work asks the runner for work and does it, until the runner ends the connection.
//
// Beam's own function for starting a worker is not used. It fetches a binary and runs it, but this
// binary already has the code; its worker never exits by itself, and it raises the limit of open
// files to nine tenths of the memory.
func work(ctx context.Context, version string, args []string) error {
	c, err := parse(args)
	if err != nil {
		return err
	}
	ctx = grpcx.WriteWorkerID(ctx, c.id)
	info, err := tools.ProvisionInfo(ctx, c.provision)
	if err != nil {
		return err
	}
	c.control = cmp.Or(info.GetControlEndpoint().GetUrl(), c.control)
	c.logging = cmp.Or(info.GetLoggingEndpoint().GetUrl(), c.logging)
	if c.control == "" || c.logging == "" {
		return fmt.Errorf("%s: no endpoints of control and logging", c.provision)
	}
	var options runtime.RawOptionsWrapper
	if err := tools.ProtoToOptions(info.GetPipelineOptions(), &options); err != nil {
		return fmt.Errorf("pipeline options: %w", err)
	}
	if err := sameBuild(version, options.Options.Options[buildOption]); err != nil {
		return refuse(ctx, c.control, err)
	}
	runtime.GlobalOptions.Import(options.Options)
	beam.Init()
	return harness.MainWithOptions(ctx, c.logging, c.control, harness.Options{
		RunnerCapabilities: info.GetRunnerCapabilities(),
		StatusEndpoint:     info.GetStatusEndpoint().GetUrl(),
	})
}

// refuse answers every request of the runner with the reason. If a worker exits instead, the runner
// waits: Prism and Flink both wait for a connection that never comes.
func refuse(ctx context.Context, control string, reason error) error {
	conn, err := grpcx.Dial(ctx, control, time.Minute)
	if err != nil {
		return errors.Join(reason, err)
	}
	defer conn.Close()
	stream, err := fnpb.NewBeamFnControlClient(conn).Control(ctx)
	if err != nil {
		return errors.Join(reason, err)
	}
	for {
		request, err := stream.Recv()
		if err != nil { // the runner has heard it
			return reason
		}
		stream.Send(&fnpb.InstructionResponse{
			InstructionId: request.GetInstructionId(),
			Error:         reason.Error(),
		})
	}
}
