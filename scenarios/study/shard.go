package study

import (
	"fmt"
	"strconv"
	"strings"
)

// A Shard is the part of a study that one of several machines plays. Runs are dealt out in turn, so that neighbours of
// a sweep, which take about as long, go to different machines. The zero value is the whole study.
type Shard struct {
	Index int // counts from 0
	Of    int // how many shards there are; 0: one
}

// Whole reports whether the shard is all there is.
func (s Shard) Whole() bool { return s.Of <= 1 }

// String returns "INDEX/COUNT".
func (s Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, max(s.Of, 1)) }

// Indices returns the runs of the shard, in their order, in a study of n runs.
func (s Shard) Indices(n int) []int {
	step := max(s.Of, 1)
	var list []int
	for i := s.Index; i < n; i += step {
		list = append(list, i)
	}
	return list
}

// ParseShard reads "INDEX/COUNT". Indices count from 0, as those of Slurm and Kubernetes do: the four quarters are
// 0/4, 1/4, 2/4 and 3/4.
func ParseShard(text string) (Shard, error) {
	head, tail, ok := strings.Cut(text, "/")
	index, err := strconv.Atoi(head)
	of, err2 := strconv.Atoi(tail)
	if !ok || err != nil || err2 != nil {
		return Shard{}, fmt.Errorf("want INDEX/COUNT, as in 0/4, got %q", text)
	}
	return Shard{index, of}, checkShard(index, of)
}

func checkShard(index, of int) error {
	switch {
	case of < 1:
		return fmt.Errorf("want at least one shard, got %d", of)
	case index < 0 || index >= of:
		return fmt.Errorf("shards count from 0: those of %d are 0/%d to %d/%d, got %d/%d", of, of, of-1, of, index, of)
	}
	return nil
}

// Variables that Slurm sets in every task of an array (sbatch --array), and Kubernetes in every pod of an Indexed Job.
// Kubernetes does not tell a pod how many there are: the manifest has to, in a variable of our own.
const (
	slurmTask   = "SLURM_ARRAY_TASK_ID"
	slurmCount  = "SLURM_ARRAY_TASK_COUNT"
	slurmFirst  = "SLURM_ARRAY_TASK_MIN"
	slurmStep   = "SLURM_ARRAY_TASK_STEP"
	jobIndex    = "JOB_COMPLETION_INDEX"
	jobPods     = "JOB_COMPLETIONS"
	sayYourself = "; or say it yourself with --shard INDEX/COUNT"
)

// FromEnvironment finds out which shard a cluster wants this process to play: source names the variable that said so,
// and is empty where nothing did. getenv is os.Getenv.
func FromEnvironment(getenv func(string) string) (s Shard, source string, err error) {
	slurm, kubernetes := getenv(slurmTask), getenv(jobIndex)
	switch {
	case slurm != "" && kubernetes != "":
		return s, "", fmt.Errorf("both %s and %s are set: say which part to play with --shard INDEX/COUNT", slurmTask, jobIndex)
	case slurm != "":
		s, err = fromSlurm(getenv)
		source = slurmTask
	case kubernetes != "":
		s, err = fromKubernetes(getenv)
		source = jobIndex
	}
	return s, source, err
}

// fromSlurm counts the tasks of an array from its first one.
func fromSlurm(getenv func(string) string) (Shard, error) {
	v := variables{getenv: getenv}
	task, count := v.number(slurmTask, ""), v.number(slurmCount, "")
	first, step := v.number(slurmFirst, "0"), v.number(slurmStep, "1")
	if v.err != nil {
		return Shard{}, v.err
	}
	index := (task - first) / max(step, 1)
	if err := checkShard(index, count); err != nil || (task-first)%max(step, 1) != 0 {
		return Shard{}, fmt.Errorf("%s %d is not one of %d evenly spaced tasks: submit with --array=0-N%s", slurmTask, task, count, sayYourself)
	}
	return Shard{index, count}, nil
}

func fromKubernetes(getenv func(string) string) (Shard, error) {
	v := variables{getenv: getenv}
	index := v.number(jobIndex, "")
	if v.err == nil && getenv(jobPods) == "" {
		return Shard{}, fmt.Errorf("%s is set, but not %s: give the container the job's number of completions under that name%s", jobIndex, jobPods, sayYourself)
	}
	count := v.number(jobPods, "")
	if v.err != nil {
		return Shard{}, v.err
	}
	if err := checkShard(index, count); err != nil {
		return Shard{}, fmt.Errorf("%s and %s: %w", jobIndex, jobPods, err)
	}
	return Shard{index, count}, nil
}

// variables reads numbers from the environment and keeps the first error.
type variables struct {
	getenv func(string) string
	err    error
}

func (v *variables) number(name, fallback string) int {
	text := v.getenv(name)
	if text == "" {
		text = fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil && v.err == nil {
		v.err = fmt.Errorf("%s must be a whole number, got %q%s", name, text, sayYourself)
	}
	return n
}
