// Package deploy holds files that run the server on other machines: manifests for Kubernetes and a
// unit for systemd. Its tests check the manifests against the types of the Kubernetes API.
package deploy

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

// load decodes a manifest of one of the folders. A field that the API does not have is an error,
// and so is a field that occurs twice.
func load[T any](t *testing.T, name string) T {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n---")); n > 0 {
		t.Fatalf("%s: %d separators, want one object", name, n)
	}
	var object T
	if err := yaml.UnmarshalStrict(text, &object); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return object
}

// TestEveryManifestIsKnown: the tests below read every file in the folders.
func TestEveryManifestIsKnown(t *testing.T) {
	for folder, want := range map[string]string{
		"kubernetes": "autoscaler deployment disruptionbudget networkpolicy service",
		"flink":      "config job jobmanager networkpolicy service taskmanager volume",
	} {
		files, err := filepath.Glob(folder + "/*")
		var got []string
		for _, f := range files {
			got = append(got, strings.TrimSuffix(filepath.Base(f), ".yaml"))
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %q, %v; want %q", folder, got, err, want)
		}
	}
}

func TestAMisspeltFieldIsRefused(t *testing.T) {
	var d appsv1.Deployment
	if err := yaml.UnmarshalStrict([]byte("spec: {replica: 2}"), &d); err == nil {
		t.Error("want an error that names replica")
	}
}

func TestDeployment(t *testing.T) {
	d := load[appsv1.Deployment](t, "kubernetes/deployment.yaml")
	if d.APIVersion != "apps/v1" || d.Kind != "Deployment" {
		t.Errorf("%s %s", d.APIVersion, d.Kind)
	}
	spec := d.Spec.Template.Spec
	for k, v := range d.Spec.Selector.MatchLabels {
		if d.Spec.Template.Labels[k] != v {
			t.Errorf("the selector wants %s: %s, the pods do not have it", k, v)
		}
	}
	locked(t, spec)
	server := spec.Containers[0]
	for _, p := range []*corev1.Probe{server.StartupProbe, server.ReadinessProbe,
		server.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Port.StrVal != server.Ports[0].Name {
			t.Errorf("probe %+v, want one of port %s", p, server.Ports[0].Name)
		}
	}
	killed := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	if most := ending(t, server.Args); most >= killed || most < 60*time.Second {
		t.Errorf("its end takes up to %v; it is killed after %v", most, killed)
	}
	if grace := flag(server.Args, "grace"); grace == "" || server.Lifecycle != nil {
		t.Errorf("--grace is %q, and there is %+v: want the one alone", grace, server.Lifecycle)
	}
}

// TestSystemdWaitsForTheEnd of the unit's server.
func TestSystemdWaitsForTheEnd(t *testing.T) {
	killed, err := time.ParseDuration(unit(t, "TimeoutStopSec") + "s")
	if most := ending(t, strings.Fields(unit(t, "ExecStart"))); err != nil || most >= killed {
		t.Errorf("its end takes up to %v; it is killed after %v, %v", most, killed, err)
	}
}

// ending returns how long a server with these arguments takes to end at most. One that is killed
// before it loses texts.
func ending(t *testing.T, args []string) time.Duration {
	t.Helper()
	sum := time.Second // for the errors of what is left
	for _, name := range []string{"grace", "drain"} {
		if v := flag(args, name); v != "" {
			d, err := time.ParseDuration(v)
			if err != nil {
				t.Errorf("--%s: %v", name, err)
			}
			sum += d
		}
	}
	return sum
}

// flag returns the value of a flag in arguments, "" if it is not there.
func flag(args []string, name string) string {
	for i, arg := range args {
		if v, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			return v
		}
		if arg == "--"+name && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// TestWhoReachesWhichPort: clients that of the API, and what scrapes that of the metrics, which wants
// no key.
func TestWhoReachesWhichPort(t *testing.T) {
	pod := load[appsv1.Deployment](t, "kubernetes/deployment.yaml").Spec.Template
	server := pod.Spec.Containers[0]
	numbers := map[string]string{}
	for _, p := range server.Ports {
		numbers[p.Name] = fmt.Sprint(p.ContainerPort)
	}
	for name, flagged := range map[string]string{"http": "addr", "metrics": "metrics-addr"} {
		if _, port, _ := strings.Cut(flag(server.Args, flagged), ":"); port == "" || port != numbers[name] {
			t.Errorf("--%s has port %q, the container's port %s is %q", flagged, port, name, numbers[name])
		}
	}
	if got := pod.Annotations["prometheus.io/port"]; got != numbers["metrics"] {
		t.Errorf("the annotations name port %s, want %s", got, numbers["metrics"])
	}
	for _, p := range load[corev1.Service](t, "kubernetes/service.yaml").Spec.Ports {
		if p.TargetPort.StrVal != p.Name || numbers[p.Name] == "" {
			t.Errorf("the service's port %s is %s of the pods", p.Name, p.TargetPort.StrVal)
		}
		delete(numbers, p.Name)
	}
	if len(numbers) > 0 {
		t.Errorf("the service lacks %v", numbers)
	}
	var got []string
	for _, rule := range load[networkingv1.NetworkPolicy](t, "kubernetes/networkpolicy.yaml").Spec.Ingress {
		for _, p := range rule.Ports {
			for _, from := range rule.From {
				who := "pods"
				if from.NamespaceSelector != nil {
					who = from.NamespaceSelector.MatchLabels["kubernetes.io/metadata.name"]
				}
				got = append(got, who+" "+p.Port.StrVal)
			}
		}
	}
	if want := []string{"pods http", "monitoring metrics"}; !slices.Equal(got, want) {
		t.Errorf("the network policy lets in %q, want %q", got, want)
	}
}

// locked fails if a pod's containers have rights, or memory without a limit, or mount a volume that
// does not exist.
func locked(t *testing.T, spec corev1.PodSpec) {
	t.Helper()
	for _, c := range append(slices.Clone(spec.InitContainers), spec.Containers...) {
		s := c.SecurityContext
		if s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem ||
			s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation ||
			!slices.Contains(s.Capabilities.Drop, corev1.Capability("ALL")) {
			t.Errorf("%s: not locked: %+v", c.Name, s)
		}
		for _, m := range c.VolumeMounts {
			if !slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
				return v.Name == m.Name
			}) {
				t.Errorf("%s: mounts %s, which is no volume", c.Name, m.Name)
			}
		}
		if c.Resources.Limits.Memory().IsZero() {
			t.Errorf("%s: no limit of memory", c.Name)
		}
	}
	if !*spec.SecurityContext.RunAsNonRoot {
		t.Error("runs as root")
	}
}

func TestTheOthersSelectTheDeployment(t *testing.T) {
	labels := load[appsv1.Deployment](t, "kubernetes/deployment.yaml").Spec.Template.Labels
	s := load[corev1.Service](t, "kubernetes/service.yaml")
	n := load[networkingv1.NetworkPolicy](t, "kubernetes/networkpolicy.yaml")
	b := load[policyv1.PodDisruptionBudget](t, "kubernetes/disruptionbudget.yaml")
	for _, selector := range []map[string]string{s.Spec.Selector, n.Spec.PodSelector.MatchLabels,
		b.Spec.Selector.MatchLabels} {
		if len(selector) == 0 {
			t.Error("a selector that selects everything")
		}
		for k, v := range selector {
			if labels[k] != v {
				t.Errorf("selects %s: %s, the pods do not have it", k, v)
			}
		}
	}
	a := load[autoscalingv2.HorizontalPodAutoscaler](t, "kubernetes/autoscaler.yaml")
	if a.Spec.ScaleTargetRef.Name != "gpt" || a.Spec.ScaleTargetRef.Kind != "Deployment" {
		t.Errorf("scales %+v", a.Spec.ScaleTargetRef)
	}
	for _, x := range [][3]string{
		{s.APIVersion, s.Kind, "v1 Service"}, {n.APIVersion, n.Kind,
			"networking.k8s.io/v1 NetworkPolicy"},
		{b.APIVersion, b.Kind, "policy/v1 PodDisruptionBudget"},
		{a.APIVersion, a.Kind, "autoscaling/v2 HorizontalPodAutoscaler"},
	} {
		if x[0]+" "+x[1] != x[2] {
			t.Errorf("%s %s, want %s", x[0], x[1], x[2])
		}
	}
}
