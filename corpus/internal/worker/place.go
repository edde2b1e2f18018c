// Where a pipeline runs that does not run in this process.

package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// A Place is a job server (Flink's, Spark's or a Prism of its own) and how it gets its workers, in
// the words of Beam's flags.
type Place struct {
	Endpoint    string // of the job server, HOST:PORT
	Environment string // LOOPBACK, PROCESS, EXTERNAL or DOCKER
	Config      string // a command in JSON, a pool's HOST:PORT, or an image
	Name        string // of the job; "" is one that Beam makes up
	Parallelism int    // 0 leaves it to the runner
}

// Run submits a pipeline and waits for its end. If the context ends first, the job is cancelled. The
// version is Main's.
func (pl *Place) Run(
	ctx context.Context, version string, p *beam.Pipeline,
) (beam.PipelineResult, error) {
	if err := pl.check(); err != nil {
		return nil, err
	}
	if err := pl.tellBeam(version); err != nil {
		return nil, err
	}
	conn, err := grpcx.Dial(ctx, pl.Endpoint, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("%s: no job server answers: %w", pl.Endpoint, err)
	}
	defer conn.Close()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	name := *jobopts.JobName
	go func() {
		if err := watch(ctx, conn, name); err != nil {
			cancel(err)
		}
	}()
	result, err := universal.Execute(ctx, p)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), stop(conn, name))
	}
	if err != nil {
		return nil, err
	}
	return result, ended(ctx, conn, name)
}

// tellBeam sets what universal.Execute reads: Beam has flags and options where others have
// arguments.
func (pl *Place) tellBeam(version string) error {
	this, err := thisBuild(version)
	if err != nil {
		return err
	}
	option, err := json.Marshal(this)
	if err != nil {
		return err
	}
	beam.PipelineOptions.Set(buildOption, string(option))
	*jobopts.Endpoint, *jobopts.JobName = pl.Endpoint, pl.Name
	*jobopts.JobName = jobopts.GetJobName()
	*jobopts.EnvironmentType, *jobopts.EnvironmentConfig = pl.Environment, pl.Config
	if pl.Parallelism > 0 {
		*jobopts.Parallelism = pl.Parallelism
	}
	// Without a binary to stage Beam would compile one. Workers have theirs: an empty one is staged.
	*jobopts.WorkerBinary = os.DevNull
	return nil
}

// check refuses what Beam would take for something else: an unknown environment for DOCKER, and an
// image that is not named for its own, which lacks this binary.
func (pl *Place) check() error {
	if pl.Endpoint == "" {
		return errors.New("no --endpoint: want the HOST:PORT of a job server")
	}
	switch strings.ToUpper(pl.Environment) {
	case "LOOPBACK":
		if pl.Config != "" {
			return fmt.Errorf("--environment-config %q: LOOPBACK has none", pl.Config)
		}
		return nil
	case "PROCESS", "EXTERNAL", "DOCKER":
		if pl.Config == "" {
			return fmt.Errorf("%s wants --environment-config: a command, a pool's address or an image",
				pl.Environment)
		}
		return nil
	}
	return fmt.Errorf("--environment-type %q: want LOOPBACK, PROCESS, EXTERNAL or DOCKER",
		pl.Environment)
}

// stop cancels a job, after the context that it was to run under.
func stop(conn *grpc.ClientConn, name string) error {
	ctx, done := context.WithTimeout(context.Background(), 10*time.Second)
	defer done()
	job, err := find(ctx, conn, name)
	if job == nil {
		return err
	}
	_, err = jobpb.NewJobServiceClient(conn).Cancel(ctx,
		&jobpb.CancelJobRequest{JobId: job.GetJobId()})
	return err
}

// ended is an error if the job was cancelled, which Beam takes for an end like others.
func ended(ctx context.Context, conn *grpc.ClientConn, name string) error {
	job, err := find(ctx, conn, name)
	if err == nil && job.GetState() == jobpb.JobState_CANCELLED {
		err = fmt.Errorf("job %s was cancelled", job.GetJobId())
	}
	return err
}
