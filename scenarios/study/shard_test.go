package study

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShardsDealOutEveryRunOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, of := rapid.IntRange(0, 200).Draw(t, "runs"), rapid.IntRange(1, 40).Draw(t, "shards")
		var all []int
		for i := range of {
			all = append(all, Shard{i, of}.Indices(n)...)
		}
		slices.Sort(all)
		for i := range all {
			if all[i] != i {
				t.Fatalf("index %d stands at %d", all[i], i)
			}
		}
		if len(all) != n || len(Shard{}.Indices(n)) != n {
			t.Fatalf("%d runs dealt out, want %d", len(all), n)
		}
	})
}

func TestParseShard(t *testing.T) {
	if s, err := ParseShard("3/4"); err != nil || s != (Shard{3, 4}) || s.String() != "3/4" || s.Whole() {
		t.Errorf("3/4 is %v, %v", s, err)
	}
	if s, err := ParseShard("0/1"); err != nil || !s.Whole() {
		t.Errorf("0/1 is %v, %v", s, err)
	}
	for text, want := range map[string]string{ // order does not matter: the cases are independent
		"":       "want INDEX/COUNT",
		"3":      "want INDEX/COUNT",
		"a/4":    "want INDEX/COUNT",
		"1/b":    "want INDEX/COUNT",
		"1/4/2":  "want INDEX/COUNT",
		"4/4":    "shards count from 0: those of 4 are 0/4 to 3/4, got 4/4",
		"-1/4":   "shards count from 0",
		"0/0":    "at least one shard",
		"1/-2":   "at least one shard",
		" 1/4":   "want INDEX/COUNT",
		"1e1/20": "want INDEX/COUNT",
	} {
		if _, err := ParseShard(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error is %v, want %q", text, err, want)
		}
	}
}

func TestFromEnvironment(t *testing.T) {
	for _, c := range []struct {
		env    string // NAME=VALUE, separated by blanks
		shard  Shard
		source string
		fault  string
	}{
		{env: ""},
		{env: "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=0", shard: Shard{0, 4}, source: "SLURM_ARRAY_TASK_ID"},
		{env: "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1", shard: Shard{3, 4}, source: "SLURM_ARRAY_TASK_ID"},
		{env: "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_STEP=2", shard: Shard{3, 4}, source: "SLURM_ARRAY_TASK_ID"},
		{env: "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1", fault: "not one of 3 evenly spaced tasks"},
		{env: "SLURM_ARRAY_TASK_ID=4 SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_STEP=2", fault: "not one of"},
		{env: "SLURM_ARRAY_TASK_ID=0", fault: "SLURM_ARRAY_TASK_COUNT must be a whole number"},
		{env: "SLURM_ARRAY_TASK_ID=x SLURM_ARRAY_TASK_COUNT=4", fault: `SLURM_ARRAY_TASK_ID must be a whole number, got "x"`},
		{env: "JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=3", shard: Shard{2, 3}, source: "JOB_COMPLETION_INDEX"},
		{env: "JOB_COMPLETION_INDEX=2", fault: "but not JOB_COMPLETIONS"},
		{env: "JOB_COMPLETION_INDEX=3 JOB_COMPLETIONS=3", fault: "count from 0"},
		{env: "JOB_COMPLETION_INDEX=0 SLURM_ARRAY_TASK_ID=0", fault: "both"},
		{env: "JOB_COMPLETIONS=3"},
	} {
		env := make(map[string]string)
		for word := range strings.FieldsSeq(c.env) {
			name, value, _ := strings.Cut(word, "=")
			env[name] = value
		}
		shard, source, err := FromEnvironment(func(name string) string { return env[name] })
		if c.fault != "" {
			if err == nil || !strings.Contains(err.Error(), c.fault) {
				t.Errorf("%s: error is %v, want %q", c.env, err, c.fault)
			}
			continue
		}
		if err != nil || shard != c.shard || source != c.source {
			t.Errorf("%s: %v from %q, %v; want %v from %q", c.env, shard, source, err, c.shard, c.source)
		}
	}
}

// part is a file in memory.
func part(name, text string) Part {
	return Part{Name: name, File: strings.NewReader(text), Size: int64(len(text))}
}

func TestMergedShardsHaveTheBytesOfTheWhole(t *testing.T) {
	runs := several(t, 7)
	runs[5].Experiment = broken(t)
	whole := text(t, runs, Options{})
	for _, of := range []int{1, 2, 3, 7, 9} {
		var parts []Part
		for i := range of {
			parts = append(parts, part(fmt.Sprint(i), text(t, runs, Options{Shard: Shard{i, of}})))
		}
		slices.Reverse(parts)
		var b bytes.Buffer
		failed, err := Merge(&b, parts)
		if err != nil || b.String() != whole {
			t.Errorf("%d shards merge to other bytes (error %v)", of, err)
		}
		if len(failed) != 1 || !strings.HasPrefix(failed[0], "run 5 (run-5): ") {
			t.Errorf("failed runs: %q", failed)
		}
	}
}

func TestMergeRefusesWhatIsNotOneStudy(t *testing.T) {
	runs := several(t, 6)
	a, b := text(t, runs, Options{Shard: Shard{0, 2}}), text(t, runs, Options{Shard: Shard{1, 2}})
	fewer := text(t, runs[:5], Options{Shard: Shard{1, 2}})
	other := text(t, runs, Options{Shard: Shard{1, 2}, PerToken: true})
	for _, c := range []struct {
		parts []Part
		want  string
	}{
		{[]Part{part("a", a)}, "3 of 6 runs are missing: 1, 3, 5"},
		{[]Part{part("a", a), part("b", b), part("c", a)}, "run 0 (run-0) is in a and in c"},
		{[]Part{part("a", a), part("f", fewer)}, "f:1: belongs to another study"},
		{[]Part{part("a", a), part("o", other)}, "o:1: belongs to another study"},
		{[]Part{part("a", a), part("b", b[:len(b)-1])}, "b:3: the last line is cut off"},
		{[]Part{part("a", a), part("b", "{}\n")}, "b:1: is not a line of"},
		{[]Part{part("a", a), part("b", "report\n")}, "b:1: is not a line of"},
		{[]Part{part("a", "")}, "there is no run"},
		{nil, "there is no run"},
	} {
		var out bytes.Buffer
		if _, err := Merge(&out, c.parts); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("error is %v, want %q", err, c.want)
		}
		if out.Len() > 0 {
			t.Errorf("%q: something was written", c.want)
		}
	}
}

func TestStudiesAreToldApart(t *testing.T) {
	runs := several(t, 4)
	prints := map[string]string{fingerprint(runs, new(Options)): "the study"}
	for name, change := range map[string]func(r []Run, o *Options){ // order does not matter: the cases are independent
		"another seed":        func(r []Run, _ *Options) { r[3].Seed++ },
		"another name":        func(r []Run, _ *Options) { r[3].Name = "x" },
		"another experiment":  func(r []Run, _ *Options) { r[3].Experiment = r[2].Experiment },
		"another percentile":  func(_ []Run, o *Options) { o.Percentiles = []float64{99.9} },
		"measured per token":  func(_ []Run, o *Options) { o.PerToken = true },
		"another card's peak": func(r []Run, _ *Options) { x := *r[3].Experiment; x.Deployment.Device.BF16++; r[3].Experiment = &x },
	} {
		changed, o := slices.Clone(runs), new(Options)
		change(changed, o)
		id := fingerprint(changed, o)
		if prints[id] != "" {
			t.Errorf("%s has the fingerprint of %s", name, prints[id])
		}
		prints[id] = name
	}
	if prints[fingerprint(several(t, 4), &Options{Shard: Shard{1, 3}, Parallel: 5, Check: true, Progress: func(int, int) {}})] != "the study" {
		t.Error("how a study is played shows in its fingerprint")
	}
}

func FuzzMerge(f *testing.F) {
	f.Add([]byte(`{"study":"a","index":0,"runs":1,"name":"x"}`+"\n"), []byte("{}\n"))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		parts := []Part{part("a", string(a)), part("b", string(b))}
		var out bytes.Buffer
		if _, err := Merge(&out, parts); err == nil && out.Len() != len(a)+len(b) {
			t.Errorf("merged %d bytes to %d", len(a)+len(b), out.Len())
		}
		_, _ = Merge(io.Discard, nil)
	})
}
