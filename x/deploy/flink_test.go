package deploy

import (
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"sigs.k8s.io/yaml"
)

// A cluster is everything in the folder flink.
type cluster struct {
	config      corev1.ConfigMap
	service     corev1.Service
	volume      corev1.PersistentVolumeClaim
	policy      networkingv1.NetworkPolicy
	job         batchv1.Job
	jobManager  appsv1.Deployment
	taskManager appsv1.Deployment
}

func flink(t *testing.T) *cluster {
	return &cluster{
		config:      load[corev1.ConfigMap](t, "flink/config.yaml"),
		service:     load[corev1.Service](t, "flink/service.yaml"),
		volume:      load[corev1.PersistentVolumeClaim](t, "flink/volume.yaml"),
		policy:      load[networkingv1.NetworkPolicy](t, "flink/networkpolicy.yaml"),
		job:         load[batchv1.Job](t, "flink/job.yaml"),
		jobManager:  load[appsv1.Deployment](t, "flink/jobmanager.yaml"),
		taskManager: load[appsv1.Deployment](t, "flink/taskmanager.yaml"),
	}
}

// pods returns the pod templates of the cluster, by the name of the object that has them.
func (c *cluster) pods() map[string]corev1.PodTemplateSpec {
	return map[string]corev1.PodTemplateSpec{
		"jobmanager":  c.jobManager.Spec.Template,
		"taskmanager": c.taskManager.Spec.Template,
		"job":         c.job.Spec.Template,
	}
}

// container returns a container of a pod by its name.
func container(t *testing.T, spec corev1.PodSpec, name string) corev1.Container {
	t.Helper()
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no container %s", name)
	return corev1.Container{}
}

// flags reads arguments of the form --name=value.
func flags(c corev1.Container) map[string]string {
	all := map[string]string{}
	for _, arg := range c.Args {
		name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
		all[name] = value
	}
	return all
}

// options returns Flink's configuration.
func (c *cluster) options(t *testing.T) map[string]string {
	var all map[string]any
	if err := yaml.UnmarshalStrict([]byte(c.config.Data["config.yaml"]), &all); err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{}
	for name, value := range all {
		if n, ok := value.(float64); ok {
			value = strconv.FormatFloat(n, 'f', -1, 64)
		}
		if text, ok := value.(string); ok {
			texts[name] = text
		}
	}
	return texts
}

func TestFlinkIsLocked(t *testing.T) {
	c := flink(t)
	for name, pod := range c.pods() {
		locked(t, pod.Spec)
		for k, v := range c.policy.Spec.PodSelector.MatchLabels {
			if pod.Labels[k] != v {
				t.Errorf("%s: not under the network policy", name)
			}
		}
	}
	from := c.policy.Spec.Ingress[0].From[0].PodSelector
	if !maps.Equal(from.MatchLabels, c.policy.Spec.PodSelector.MatchLabels) {
		t.Errorf("others than Flink's own parts may reach it: %+v", from)
	}
}

func TestFlinkFindsItsParts(t *testing.T) {
	c := flink(t)
	for name, d := range map[string]appsv1.Deployment{"jobmanager": c.jobManager,
		"taskmanager": c.taskManager} {
		if !maps.Equal(d.Spec.Selector.MatchLabels, d.Spec.Template.Labels) {
			t.Errorf("%s: selects other pods than its own", name)
		}
		if d.APIVersion+" "+d.Kind != "apps/v1 Deployment" {
			t.Errorf("%s %s", d.APIVersion, d.Kind)
		}
	}
	for k, v := range c.service.Spec.Selector {
		if c.jobManager.Spec.Template.Labels[k] != v {
			t.Errorf("the service wants %s: %s, the JobManager does not have it", k, v)
		}
	}
	const component = "app.kubernetes.io/component"
	if c.service.Spec.Selector[component] == c.taskManager.Spec.Template.Labels[component] {
		t.Error("the service of the JobManager has the TaskManagers too")
	}
	options := c.options(t)
	server := container(t, c.job.Spec.Template.Spec, "job-server")
	for what, x := range map[string][2]string{
		"rpc address":   {options["jobmanager.rpc.address"], c.service.Name},
		"rest address":  {options["rest.address"], c.service.Name},
		"Flink master":  {flags(server)["flink-master"], c.service.Name + ":" + options["rest.port"]},
		"configuration": {c.config.Name, "flink"},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %s, want %s", what, x[0], x[1])
		}
	}
}

func TestFlinksPorts(t *testing.T) {
	c := flink(t)
	options := c.options(t)
	ports := map[string]string{"rpc": options["jobmanager.rpc.port"],
		"blob": options["blob.server.port"], "rest": options["rest.port"]}
	manager := container(t, c.jobManager.Spec.Template.Spec, "jobmanager")
	if len(c.service.Spec.Ports) != len(ports) || len(manager.Ports) != len(ports) {
		t.Errorf("ports %+v and %+v, want %d", c.service.Spec.Ports, manager.Ports, len(ports))
	}
	for i, p := range c.service.Spec.Ports {
		of := manager.Ports[i]
		if strconv.Itoa(int(p.Port)) != ports[p.Name] || p.TargetPort.StrVal != p.Name ||
			of.Name != p.Name || of.ContainerPort != p.Port {
			t.Errorf("port %+v to %+v, want %s", p, of, ports[p.Name])
		}
	}
	worker := container(t, c.taskManager.Spec.Template.Spec, "taskmanager")
	if p := worker.Ports[0]; strconv.Itoa(int(p.ContainerPort)) != options["taskmanager.rpc.port"] {
		t.Errorf("TaskManager's port %d, want %s", p.ContainerPort, options["taskmanager.rpc.port"])
	}
}

// TestTheJobFitsTheCluster: the job's statements about the cluster are true.
func TestTheJobFitsTheCluster(t *testing.T) {
	c := flink(t)
	spec := c.taskManager.Spec.Template.Spec
	pool, corpus := container(t, spec, "pool"), container(t, c.job.Spec.Template.Spec, "corpus")
	server := container(t, c.job.Spec.Template.Spec, "job-server")
	slots, err := strconv.Atoi(c.options(t)["taskmanager.numberOfTaskSlots"])
	if err != nil {
		t.Fatal(err)
	}
	told := flags(corpus)
	for what, x := range map[string][2]string{
		"pool":        {told["environment_config"], flags(pool)["address"]},
		"environment": {told["environment_type"], "EXTERNAL"},
		"runner":      {told["runner"], "flink"},
		"job server":  {told["endpoint"], "localhost:" + flags(server)["job-port"]},
		"parallelism": {told["parallelism"], strconv.Itoa(slots * int(*c.taskManager.Spec.Replicas))},
		"image":       {corpus.Image, pool.Image},
		"Flink": {container(t, spec, "taskmanager").Image,
			container(t, c.jobManager.Spec.Template.Spec, "jobmanager").Image},
	} {
		if x[0] != x[1] {
			t.Errorf("%s: %s, want %s", what, x[0], x[1])
		}
	}
	// The job server is Beam's for this Flink, and of the SDK that the module has.
	_, flinks, _ := strings.Cut(container(t, spec, "taskmanager").Image, ":")
	flinks, _, _ = strings.Cut(flinks, "-")
	if want := "apache/beam_flink" + flinks + "_job_server:" + beam(t); server.Image != want {
		t.Errorf("job server %s, want %s", server.Image, want)
	}
	if server.RestartPolicy == nil || *server.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("the job server is no sidecar: the job would wait for its end")
	}
	if probe := server.StartupProbe.Exec.Command; !strings.HasSuffix(probe[len(probe)-1],
		"/"+flags(server)["job-port"]) {
		t.Errorf("the probe asks %q", probe)
	}
}

// TestTheWorkersSeeTheFiles under the same names as the job.
func TestTheWorkersSeeTheFiles(t *testing.T) {
	c := flink(t)
	mounted := map[string]string{}
	for where, pod := range c.pods() {
		for _, v := range pod.Spec.Volumes {
			if v.PersistentVolumeClaim == nil {
				continue
			}
			if v.PersistentVolumeClaim.ClaimName != c.volume.Name {
				t.Errorf("%s: claims %s", where, v.PersistentVolumeClaim.ClaimName)
			}
			for _, one := range pod.Spec.Containers {
				for _, m := range one.VolumeMounts {
					if m.Name == v.Name {
						mounted[one.Name] = m.MountPath
					}
				}
			}
		}
	}
	if want := map[string]string{"pool": "/data", "corpus": "/data"}; !maps.Equal(mounted, want) {
		t.Errorf("mounted %v, want %v", mounted, want)
	}
	told := flags(container(t, c.job.Spec.Template.Spec, "corpus"))
	for _, name := range []string{"input", "output", "model"} {
		if !strings.HasPrefix(told[name], "/data/") {
			t.Errorf("--%s=%s: not in the volume", name, told[name])
		}
	}
	if !slices.Contains(c.volume.Spec.AccessModes, corev1.ReadWriteMany) {
		t.Errorf("%v: one node only", c.volume.Spec.AccessModes)
	}
	if c.job.APIVersion+" "+c.job.Kind != "batch/v1 Job" {
		t.Errorf("%s %s", c.job.APIVersion, c.job.Kind)
	}
}

// beam returns the version of Beam's SDK that the pipelines are built with.
func beam(t *testing.T) string {
	text, err := os.ReadFile("../corpus/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "github.com/apache/beam/sdks/v2 v")
	version, _, _ := strings.Cut(rest, "\n")
	return version
}
