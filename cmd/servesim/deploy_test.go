package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// played runs one command line in an environment and returns what it printed.
func played(t *testing.T, variables map[string]string, args ...string) []byte {
	t.Helper()
	var stdout, stderr bytes.Buffer
	e := &env{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, getenv: func(name string) string { return variables[name] }}
	if code := execute(context.Background(), e, args); code != 0 {
		t.Fatalf("servesim %s: status %d: %s", strings.Join(args, " "), code, stderr.String())
	}
	return stdout.Bytes()
}

// The arguments in the manifest are played as the pods would play them: Kubernetes writes the index into them.
func TestPodsOfTheIndexedJobPlayTheStudy(t *testing.T) {
	text, err := os.ReadFile("deploy/kubernetes-indexed-job.yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, document, _ := bytes.Cut(text, []byte("\n---\n"))
	var job struct {
		Spec struct {
			Completions int
			Template    struct {
				Spec struct{ Containers []struct{ Args []string } }
			}
		}
	}
	if err := yaml.Unmarshal(document, &job); err != nil {
		t.Fatal(err)
	}
	args, pods := job.Spec.Template.Spec.Containers[0].Args, job.Spec.Completions
	dir := t.TempDir()
	play := func(env map[string]string, file string) {
		mine := make([]string, len(args))
		for i, a := range args {
			mine[i] = strings.ReplaceAll(a, "$(JOB_COMPLETION_INDEX)", env["JOB_COMPLETION_INDEX"])
			mine[i] = strings.Replace(mine[i], "/results/", dir+"/", 1)
		}
		if file != "" {
			mine[len(mine)-1] = file
		}
		played(t, env, mine...)
	}
	whole := filepath.Join(dir, "whole.jsonl")
	play(nil, whole)
	merge := []string{"merge"}
	for i := range pods {
		play(map[string]string{"JOB_COMPLETION_INDEX": strconv.Itoa(i), "JOB_COMPLETIONS": strconv.Itoa(pods)}, "")
		merge = append(merge, filepath.Join(dir, "part-"+strconv.Itoa(i)+".jsonl"))
	}
	want, err := os.ReadFile(whole)
	if err != nil {
		t.Fatal(err)
	}
	if got := played(t, nil, merge...); !bytes.Equal(got, want) || bytes.Count(want, []byte("\n")) != 8 {
		t.Error("the merged files of the pods differ from the study on one machine")
	}
}
