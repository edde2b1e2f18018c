// A pool: starts workers on this machine for runners whose environment is EXTERNAL.

package worker

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
	"google.golang.org/grpc"
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
