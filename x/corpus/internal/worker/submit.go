// Submitting: a pipeline's job from its start to its end.

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
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/x/beamx"
	"google.golang.org/grpc"
)

// Submit runs a pipeline and waits for its end. Beam's flags, which were parsed, say where:
// --runner, --endpoint of a job server, --environment_type, --environment_config and others. If the
// context ends first, Submit cancels the job. The version is Main's.
func Submit(ctx context.Context, version string, p *beam.Pipeline) (beam.PipelineResult, error) {
	if err := Check(); err != nil {
		return nil, err
	}
	if *jobopts.Endpoint == "" && !onDataflow() { // in this process
		return beamx.RunWithMetrics(ctx, p)
	}
	if err := tellWorkers(version); err != nil {
		return nil, err
	}
	if *jobopts.Endpoint == "" {
		return beamx.RunWithMetrics(ctx, p)
	}
	conn, err := grpcx.Dial(ctx, *jobopts.Endpoint, 10*time.Second)
	if err != nil {
		return nil, fmt.Errorf("no job server answers: %w", err)
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
	result, err := beamx.RunWithMetrics(ctx, p)
	if ctx.Err() != nil {
		return nil, errors.Join(context.Cause(ctx), stop(conn, name))
	}
	if err != nil {
		return nil, err
	}
	return result, ended(ctx, conn, name)
}

// tellWorkers adds the submitter's build to the job's options, and gives the job a name.
func tellWorkers(version string) error {
	this, err := thisBuild(version)
	if err != nil {
		return err
	}
	option, err := json.Marshal(this)
	if err != nil {
		return err
	}
	beam.PipelineOptions.Set(buildOption, string(option))
	*jobopts.JobName = jobopts.GetJobName()
	if *jobopts.WorkerBinary != "" {
		return nil
	}
	// Without a binary to stage, Beam would compile one. Workers have their own, so an empty one is
	// enough, except for Dataflow, whose image contains nothing else.
	*jobopts.WorkerBinary = os.DevNull
	if onDataflow() {
		*jobopts.WorkerBinary, err = os.Executable()
	}
	return err
}

// onDataflow reports whether the runner is Dataflow, which has no job server.
func onDataflow() bool { return strings.HasPrefix(strings.ToLower(*runners.Runner), "dataflow") }

// stop cancels a job after its context has ended.
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

// ended returns an error if the job was cancelled, which Beam does not treat as an error.
func ended(ctx context.Context, conn *grpc.ClientConn, name string) error {
	job, err := find(ctx, conn, name)
	if err == nil && job.GetState() == jobpb.JobState_CANCELLED {
		err = fmt.Errorf("job %s was cancelled", job.GetJobId())
	}
	return err
}
