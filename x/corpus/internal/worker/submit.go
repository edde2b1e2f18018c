package worker

// Submitting: a pipeline's job from its start to its end.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
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

// Where a pipeline runs: Beam's flags for that, checked before anything starts.

// Check refuses flags of Beam with which no pipeline can run, or which Beam would misunderstand:
// Beam reports an unknown runner only in its log.
func Check() error {
	endpoint := *jobopts.Endpoint
	switch runner := *runners.Runner; runner {
	case "", "prism", "PrismRunner", "dataflow", "DataflowRunner":
	case "flink", "FlinkRunner", "spark", "SparkRunner", "universal", "portable", "PortableRunner":
		if endpoint == "" {
			return fmt.Errorf("--runner %s: want --endpoint HOST:PORT, of its job server", runner)
		}
	default:
		return fmt.Errorf("--runner %q: want prism, flink, spark, universal or dataflow", runner)
	}
	if endpoint != "" {
		if _, port, err := net.SplitHostPort(endpoint); err != nil || port == "" {
			return fmt.Errorf("--endpoint %q: want HOST:PORT", endpoint)
		}
	}
	return checkEnvironment(endpoint)
}

// checkEnvironment refuses an unknown environment, which Beam would treat as DOCKER, and a missing
// image: Beam's own image does not contain this binary.
func checkEnvironment(endpoint string) error {
	kind, config := *jobopts.EnvironmentType, *jobopts.EnvironmentConfig
	switch strings.ToUpper(kind) {
	case "LOOPBACK":
		if config != "" {
			return fmt.Errorf("--environment_config %q: LOOPBACK has none", config)
		}
		return nil
	case "PROCESS", "EXTERNAL", "DOCKER":
		if config == "" {
			return fmt.Errorf("--environment_type %s: want --environment_config: a command in JSON, "+
				"a pool's HOST:PORT or an image", kind)
		}
		runner := strings.ToLower(*runners.Runner)
		if endpoint == "" && (runner == "" || strings.HasPrefix(runner, "prism")) {
			return fmt.Errorf("--environment_type %s: want --endpoint HOST:PORT of a job server; "+
				"without one all work is done in this process", kind)
		}
		return nil
	case "":
		if endpoint == "" {
			return nil
		}
	}
	return fmt.Errorf("--environment_type %q: want LOOPBACK, PROCESS, EXTERNAL or DOCKER", kind)
}

// The build of a process: the submitting process and its workers must have the same.

// buildOption is the pipeline option that tells the workers the submitter's build.
const buildOption = "corpus_build"

// A build identifies a binary. Binaries of one version for two platforms have different bytes.
type build struct {
	Version, Platform, SHA256 string
}

// thisBuild reads the binary of this process.
func thisBuild(version string) (build, error) {
	b := build{Version: version, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	name, err := os.Executable()
	if err != nil {
		return b, err
	}
	f, err := os.Open(name)
	if err != nil {
		return b, err
	}
	defer f.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	b.SHA256 = hex.EncodeToString(hash.Sum(nil))
	return b, err
}

// sameBuild returns an error unless this process has the build that the option names. A pipeline
// names its functions, and another build may have other functions with the same names, or compute
// other digits.
func sameBuild(version, option string) error {
	var theirs build
	if err := json.Unmarshal([]byte(option), &theirs); err != nil {
		return fmt.Errorf("the job does not say which build submitted it: option %s is %.80q",
			buildOption, option)
	}
	ours, err := thisBuild(version)
	if err != nil {
		return err
	}
	if !ours.equal(theirs) {
		return fmt.Errorf("this worker is %s, the job was submitted by %s: want the same build",
			ours, theirs)
	}
	return nil
}

// equal compares the bytes on one platform, and the released versions between platforms.
func (b build) equal(other build) bool {
	if b.Platform == other.Platform {
		return b.SHA256 == other.SHA256
	}
	return b.Version != "" && b.Version == other.Version
}

func (b build) String() string {
	return fmt.Sprintf("version %q for %s, SHA-256 %.12s", b.Version, b.Platform, b.SHA256)
}
