// Where a pipeline runs: Beam's flags for that, checked before anything starts.

package worker

import (
	"fmt"
	"net"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners"
)

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
