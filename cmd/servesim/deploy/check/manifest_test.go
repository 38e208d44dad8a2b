package check

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// manifest decodes the claim and the job. A field that Kubernetes does not have, or that is there twice, is an error.
func manifest(t *testing.T) (corev1.PersistentVolumeClaim, batchv1.Job) {
	t.Helper()
	text, err := os.ReadFile("../kubernetes-indexed-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := bytes.Split(text, []byte("\n---\n"))
	if len(documents) != 2 {
		t.Fatalf("%d documents, want the claim and the job", len(documents))
	}
	var claim corev1.PersistentVolumeClaim
	if err := yaml.UnmarshalStrict(documents[0], &claim); err != nil {
		t.Fatal(err)
	}
	var job batchv1.Job
	if err := yaml.UnmarshalStrict(documents[1], &job); err != nil {
		t.Fatal(err)
	}
	return claim, job
}

func TestTheManifestIsKubernetes(t *testing.T) {
	claim, job := manifest(t)
	if claim.APIVersion != corev1.SchemeGroupVersion.String() || claim.Kind != "PersistentVolumeClaim" {
		t.Errorf("the claim is a %s of %s", claim.Kind, claim.APIVersion)
	}
	if job.APIVersion != batchv1.SchemeGroupVersion.String() || job.Kind != "Job" {
		t.Errorf("the job is a %s of %s", job.Kind, job.APIVersion)
	}
	if mode := job.Spec.CompletionMode; mode == nil || *mode != batchv1.IndexedCompletion {
		t.Error("the job is not indexed: its pods do not learn which shard to play")
	}
	// The API server refuses a limit per index with any other policy.
	if policy := job.Spec.Template.Spec.RestartPolicy; job.Spec.BackoffLimitPerIndex != nil && policy != corev1.RestartPolicyNever {
		t.Errorf("restartPolicy is %s, and backoffLimitPerIndex wants Never", policy)
	}
	if claim.Spec.AccessModes[0] != corev1.ReadWriteMany {
		t.Error("pods on several nodes cannot write to the claim")
	}
}

func TestPodsLearnHowManyShardsThereAre(t *testing.T) {
	_, job := manifest(t)
	want := strconv.Itoa(int(*job.Spec.Completions))
	for _, v := range job.Spec.Template.Spec.Containers[0].Env {
		if v.Name == "JOB_COMPLETIONS" {
			if v.Value != want {
				t.Errorf("JOB_COMPLETIONS is %s, and the job has %s completions", v.Value, want)
			}
			return
		}
	}
	t.Error("JOB_COMPLETIONS is not set")
}

func TestResultsLandInTheClaim(t *testing.T) {
	claim, job := manifest(t)
	pod := job.Spec.Template.Spec
	if got := pod.Volumes[0].PersistentVolumeClaim.ClaimName; got != claim.Name {
		t.Errorf("the pod uses the claim %q, and there is %q", got, claim.Name)
	}
	mount := pod.Containers[0].VolumeMounts[0]
	if mount.Name != pod.Volumes[0].Name {
		t.Errorf("%q is mounted, and there is %q", mount.Name, pod.Volumes[0].Name)
	}
	args := pod.Containers[0].Args
	if out := args[len(args)-1]; out != mount.MountPath+"/part-$(JOB_COMPLETION_INDEX).jsonl" {
		t.Errorf("pods write to %s, outside %s, or all to one file", out, mount.MountPath)
	}
}
