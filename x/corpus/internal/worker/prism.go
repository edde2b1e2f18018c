// A check that Prism does not make: whether the process of a worker has gone.

package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// patience is how long a job may run without a worker. Every job does so for a moment at its end.
const patience = 5 * time.Second

// ErrGone says that a job runs on a Prism that has no worker for it.
var ErrGone = errors.New("the worker's process is gone, or never started: the log of Prism has more")

// watch returns ErrGone if a job runs on a Prism that has no worker for it. When a process of the
// environment PROCESS ends, Prism forgets the worker before it fails the worker's work, and the job
// stays in the state of running for ever. Other runners notice this, and have no service that could
// be asked: for them watch returns nil.
func watch(ctx context.Context, conn *grpc.ClientConn, name string) error {
	last := time.Now() // when the worker was last known
	for tick := time.Tick(time.Second); ; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick:
		}
		job, err := find(ctx, conn, name)
		if err != nil {
			return nil // the submission itself reports that
		}
		if job.GetState() == jobpb.JobState_RUNNING {
			switch known, err := registered(ctx, conn, job); {
			case err != nil:
				return nil
			case !known && time.Since(last) > patience:
				return ErrGone
			case !known:
				continue
			}
		}
		last = time.Now()
	}
}

// registered asks a Prism whether it knows the worker of a job. An error is any other answer of a
// server. The id is that of github.com/apache/beam/sdks/v2 v2.77.0.
func registered(ctx context.Context, conn *grpc.ClientConn, job *jobpb.JobInfo) (bool, error) {
	id := fmt.Sprintf("%s[%s]_go", job.GetJobId(), job.GetJobName())
	_, err := fnpb.NewProvisionServiceClient(conn).GetProvisionInfo(
		grpcx.WriteWorkerID(ctx, id), &fnpb.GetProvisionInfoRequest{})
	if status.Code(err) == codes.Unknown { // Prism uses no better code
		return false, nil
	}
	return err == nil, err
}

// find returns the job with a name, or nil before it is submitted.
func find(ctx context.Context, conn *grpc.ClientConn, name string) (*jobpb.JobInfo, error) {
	all, err := jobpb.NewJobServiceClient(conn).GetJobs(ctx, &jobpb.GetJobsRequest{})
	for _, job := range all.GetJobInfo() {
		if job.GetJobName() == name {
			return job, nil
		}
	}
	return nil, err
}
