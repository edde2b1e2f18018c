package worker

// A pool: starts workers on this machine for runners whose environment is EXTERNAL.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// stopTime is the time between SIGTERM and SIGKILL for a worker.
const stopTime = 5 * time.Second

// Pool serves Beam's worker pool at an address until the context ends, and then stops its workers.
// Workers are processes of this binary, one for each request of a runner. Their output goes to
// stderr, and so does a line for each worker that dies.
//
// Beam has a pool too (container/pool): it listens on all of the machine's addresses, and does not
// wait for its processes, so that ended ones stay as zombies, and the id of a dead one cannot be
// used again.
func Pool(ctx context.Context, address string, stderr io.Writer) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	executable, err := os.Executable()
	if err != nil {
		return err
	}
	p := &pool{ctx: ctx, executable: executable, stderr: stderr, workers: map[string]*child{}}
	server := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, p)
	fmt.Fprintf(stderr, "corpus: pool: listening on %s\n", listener.Addr())
	stopped := context.AfterFunc(ctx, server.Stop)
	defer stopped()
	err = server.Serve(listener)
	p.all.Wait()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// A pool is the service.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	ctx        context.Context // its end stops the pool and its workers
	executable string
	stderr     io.Writer
	all        sync.WaitGroup

	mu      sync.Mutex
	workers map[string]*child // by id
}

// A child is a worker's process.
type child struct {
	stop context.CancelFunc
	done chan struct{} // closed when it has ended
}

// StartWorker starts a process. An error is in the answer, where runners expect it.
func (p *pool) StartWorker(
	_ context.Context, request *fnpb.StartWorkerRequest,
) (*fnpb.StartWorkerResponse, error) {
	if err := p.start(request); err != nil {
		return &fnpb.StartWorkerResponse{Error: err.Error()}, nil
	}
	return &fnpb.StartWorkerResponse{}, nil
}

func (p *pool) start(request *fnpb.StartWorkerRequest) error {
	id := request.GetWorkerId()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ctx.Err() != nil {
		return errors.New("the pool is stopping")
	}
	if p.workers[id] != nil {
		return fmt.Errorf("worker %q is running", id)
	}
	ctx, stop := context.WithCancel(p.ctx)
	cmd := exec.CommandContext(ctx, p.executable, "--id="+id,
		"--provision_endpoint="+request.GetProvisionEndpoint().GetUrl(),
		"--control_endpoint="+request.GetControlEndpoint().GetUrl(),
		"--logging_endpoint="+request.GetLoggingEndpoint().GetUrl())
	cmd.Stdout, cmd.Stderr = p.stderr, p.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = stopTime
	if err := cmd.Start(); err != nil {
		stop()
		return err
	}
	c := &child{stop, make(chan struct{})}
	p.workers[id] = c
	p.all.Go(func() {
		err := cmd.Wait()
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.stderr, "corpus: pool: worker %s: %v\n", id, err)
		}
		stop()
		p.mu.Lock()
		delete(p.workers, id)
		p.mu.Unlock()
		close(c.done)
	})
	return nil
}

// StopWorker ends a process and waits for its end. It does nothing if the process has ended.
func (p *pool) StopWorker(
	ctx context.Context, request *fnpb.StopWorkerRequest,
) (*fnpb.StopWorkerResponse, error) {
	p.mu.Lock()
	c := p.workers[request.GetWorkerId()]
	p.mu.Unlock()
	if c != nil {
		c.stop()
		select {
		case <-c.done:
		case <-ctx.Done():
		}
	}
	return &fnpb.StopWorkerResponse{}, nil
}

// A check that Prism does not make: whether the process of a worker has gone.

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
