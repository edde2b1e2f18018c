// Package deploy holds files that run the server on other machines: manifests for Kubernetes and a
// unit for systemd. Its tests check the manifests against the types of the Kubernetes API.
package deploy

import (
	"bytes"
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
	// A server that is killed while it drains loses texts.
	grace := time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second
	for _, arg := range server.Args {
		if v, ok := strings.CutPrefix(arg, "--drain="); ok {
			if drain, err := time.ParseDuration(v); err != nil || drain >= grace {
				t.Errorf("drains for %s, %v; it is killed after %s", v, err, grace)
			}
		}
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
