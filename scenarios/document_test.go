package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mistakesOf reads the text of a scenario and returns what is wrong with it, one mistake a line.
func mistakesOf(t *testing.T, text string, settings ...string) []string {
	t.Helper()
	_, err := build(text, settings...)
	if err == nil {
		return nil
	}
	return strings.Split(err.Error(), "\n")
}

func TestAllMistakesOfAFileAreShownAtOnceWithTheirPlaces(t *testing.T) {
	got := mistakesOf(t, `name: broken
modell: llama-3.1-8b
hardware:
  gpu: H100-SMX
engine:
  max_num_seqs: -4
  max_num_seqz: 4
  gpu_memory_utilization: 1.5
  enable_prefix_caching: yes
  max_num_batched_tokens: many
workload:
  rate: -3
  rate: 5
  arrivals: poison
  timeout: 30
  prompt: {dist: lognormal, mean: .nan}
  output: {dist: zipf}
slo: {ttft: 1 second}
scheduler: [chunked]
`)
	want := []string{
		`test.yaml:2:1: modell: unknown key, did you mean model?`,
		`test.yaml:4:8: hardware.gpu: unknown GPU "H100-SMX"; the nearest known are: h100-sxm, h100-pcie, h100-nvl (or a mapping with the numbers of your card)`,
		`test.yaml:6:17: engine.max_num_seqs: must be at least 1, got -4`,
		`test.yaml:7:3: engine.max_num_seqz: unknown key, did you mean max_num_seqs?`,
		`test.yaml:8:27: engine.gpu_memory_utilization: must be above 0 and at most 1, got 1.5`,
		`test.yaml:9:26: engine.enable_prefix_caching: must be true or false, got "yes"`,
		`test.yaml:10:27: engine.max_num_batched_tokens: must be a number, got "many" (or auto)`,
		`test.yaml:12:9: workload.rate: must be above 0 and at most 1e9, got -3`,
		`test.yaml:13:3: workload.rate: given twice, first in line 12`,
		`test.yaml:14:13: workload.arrivals.name: must be one of poisson, constant, burst, gamma, closed, trace, got "poison", did you mean poisson?`,
		`test.yaml:15:12: workload.timeout: needs a unit, e.g. 30s or 30ms, got 30 (or none)`,
		`test.yaml:16:35: workload.prompt.mean: must be a finite number, got .nan`,
		`test.yaml:17:18: workload.output.dist: zipf is not supported yet by this version, it must be one of fixed, uniform, normal, lognormal`,
		`test.yaml:18:13: slo.ttft: must be a span of time such as 500ms, 1.5s or 10m, got "1 second"`,
		`test.yaml:19:12: scheduler: must be a single value or a mapping with the keys name, max_batch, timeout, pad_to, early_exit, preferred_batch_sizes, chunk_size, chunked_prefill_size, max_prefill_tokens, schedule_policy, conservativeness, enable_mixed_chunk, capacity_policy, predictor, quantum, starvation, chunk_by_slack; got a list`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestAMistakeIsOneLineThatSaysWhatIsAllowed(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"model: llama-3.1-8c", `test.yaml:1:8: model: unknown model "llama-3.1-8c"; the nearest known are: llama-3.1-8b`},
		{"hardware: {gpu: H10}", `test.yaml:1:17: hardware.gpu: unknown GPU "H10"; the nearest known are: h100`},
		{"workload: {rate: .inf, requests: 0}", "requests: must be at least 1, got 0"},
		{"workload: {rate: 0}", "workload.rate: must be above 0 and at most 1e9, got 0"},
		{"workload: {rate: 1e300}", "workload.rate: must be above 0 and at most 1e9, got 1e300"},
		{"workload: {rate: nan}", "must be a finite number, got nan (or auto, inf"},
		{"workload: {requests: 1.5}", "workload.requests: must be a whole number, got 1.5"},
		{"workload: {requests: \"12\"}", `workload.requests: must be a number, got the text "12"`},
		{"workload: {requests: 1e300}", "workload.requests: is too large"},
		{"workload: {arrivals: trace}", "workload.arrivals: a trace needs file"},
		{"workload: {arrivals: {name: trace, file: nowhere.csv}}", "nowhere.csv: cannot be read: no such file"},
		{"workload: {prompt: {dist: normal}}", "workload.prompt: normal needs mean, in tokens"},
		{"workload: {prompt: {dist: lognormal, mean: 5000, p99: 1000}}", "workload.prompt"},
		{"workload: {sessions: {turns: 0}}", "workload.sessions.turns.mean: must be at least 1, got 0"},
		{"workload: {sessions: {turns: {dist: normal, mean: 3}}}", "workload.sessions.turns: normal needs std beside mean, in tokens (0: always the mean)"},
		{"workload: {sessions: {turns: 3}, prefix: {distinct: 5}}", "workload.prefix.distinct: does not go with sessions, whose prompts grow from turn to turn"},
		{"workload: {classes: [{name: a, prompt: {mean: 5, p98: 3}}]}", "workload.classes[0].prompt.p98: unknown key, did you mean p99?"},
		{"workload: {classes: [{name: a, slo: {ttft: 5}}]}", "workload.classes[0].slo.ttft: needs a unit, e.g. 5s or 5ms, got 5"},
		{"workload: {classes: [{name: a, slo: 3s}]}", "workload.classes[0].slo: must be a mapping with the keys ttft, tpot, itl, e2el; got a single value"},
		{"workload: {classes: [{name: a, output: {dist: uniform, mean: 5}}]}", "workload.classes[0].output: uniform needs range_ratio beside mean, the half-width as a share of it (0: always the mean), or min and max"},
		{"workload: {clients: 0}", "workload.clients.count: must be from 1 to 1048576, got 0"},
		{"workload: {clients: 1000000000}", "workload.clients.count: must be from 1 to 1048576, got 1000000000"},
		{"workload: {clients: {shares: []}}", "workload.clients.shares: must be a list of whole numbers, got none"},
		{"frontend: {api_servers: 1000000000}", "frontend.api_servers: must be from 1 to 4096, got 1000000000"},
		{"engine: {api_server_count: 5000}", "engine.api_server_count: must be from 1 to 4096, got 5000"},
		{"cluster: {autoscale: {max: 2, interval: 1ns}}", "cluster.autoscale.interval: must be at least 1ms, got 1ns"},
		{"engine: {speculative_config: {method: eagle, num_speculative_tokens: 2, acceptance: []}}", "acceptance: must be a number or a list of numbers, got none"},
		{"workload: {classes: [{nam: a}]}", "workload.classes[0].nam: unknown key, did you mean name?"},
		{"workload: {classes: [{share: -1}]}", "workload.classes[0].share: must be positive, got -1"},
		{"cluster: {replicas: 0}", "cluster.replicas: must be from 1 to 4096, got 0"},
		{"cluster: {replicas: 2, router: nearest}", "must be one of round-robin, random, "},
		{"cluster: {groups: 2}", "cluster.groups: must be a list of mappings {name, replicas, gpu, engine}, got a single value"},
		{"cluster: {groups: [{gpus: h100}]}", "cluster.groups[0].gpus: unknown key, did you mean gpu?"},
		{"cluster: {groups: [{engine: {block_size: 17}}]}", "cluster.groups[0].engine.block_size: must be a power of two from 1 to 1024, got 17"},
		{"cluster: {groups: [{engine: {tensor_parallel_size: 5}}]}", "cluster.groups[0].engine.tensor_parallel_size: 5 does not divide 32 attention heads"},
		{"cluster: {groups: [{gpu: h10}]}", "cluster.groups[0].gpu: unknown GPU"},
		{"cluster: {groups: [{name: a}, {name: a}]}", "cluster.groups[1].name: \"a\" is taken"},
		{"cluster: {replicas: 1, groups: [{replicas: 2}]}", "cluster.replicas: must be at least 2, the replicas of the groups together, got 1"},
		{"engine: {speculative_config: {method: ngram}}", "engine.speculative_config: needs num_speculative_tokens"},
		{"engine: {profile: vllm-0.99}", `engine.profile: must be one of vllm-v1, vllm-v1-2025`},
		{"engine: {kv_cache_memory_bytes: 5 bananas}", `must be an amount in bytes such as 10GiB, got "5 bananas"`},
		{"engine: {block_size: 24}", "engine.block_size: must be a power of two from 1 to 1024, got 24"},
		{"hardware: {internode: {bandwidth: 50}}", `must be a bandwidth in bytes such as 50GB/s, got "50"`},
		{"hardware: {internode: ib-nrd}", `unknown link "ib-nrd", did you mean ib-ndr?`},
		{"rate: 4", "rate: unknown key, did you mean workload.rate?"},
		{"slo: 5", "slo: must be a mapping with the keys ttft, tpot, itl, e2el; got a single value"},
		{"- a", "a scenario is a mapping of keys such as model, hardware and workload, got a list"},
		{"a: 1\n b: 2", "test.yaml:1:4: mapping value is not allowed in this context"},
		{"seed: *x", "test.yaml:1:7: seed: there is no anchor &x before this"},
		{"name: a\n---\nname: b", "a scenario file holds one document, this is another"},
		{"seed: !!int 5", "YAML tags are not understood here, remove !!int"},
	} {
		got := mistakesOf(t, c.text)
		if len(got) != 1 || !strings.Contains(got[0], c.want) {
			t.Errorf("%s:\n got %q\nwant %q", c.text, got, c.want)
		}
	}
}

func TestAMistakeMadeByAFlagNamesTheFlag(t *testing.T) {
	d, err := Open("chat")
	if err != nil {
		t.Fatal(err)
	}
	for _, set := range [][3]string{
		{"engine.max_num_seqs", "0", "--max-num-seqs"},
		{"workload.prompt", "{dist: lognormal, mean: x}", "--set"},
		{"engine.tensor_parallel_size", "3", "--tensor-parallel-size"},
	} {
		if err := d.Set(set[0], set[1], set[2]); err != nil {
			t.Fatal(err)
		}
	}
	_, err = d.Scenario()
	want := "--max-num-seqs: engine.max_num_seqs: must be at least 1, got 0\n--set: workload.prompt.mean: must be a number, got \"x\""
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestAnUnknownPathIsRefusedWithTheNearestOne(t *testing.T) {
	// order does not matter: each path is tried by itself
	for path, want := range map[string]string{
		"workload.rte": "did you mean workload.rate?", "engine.max-num-seqs": "did you mean engine.max_num_seqs?",
		"max_num_seqs": "did you mean engine.max_num_seqs?", "engine": "", "workload.arrivals.burstines": "did you mean workload.arrivals.burstiness?",
	} {
		err := (&Document{root: &node{kind: mapping}}).Set(path, "{}", "--set")
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "--set: "+path)) {
			t.Errorf("%s: got %v, want %s", path, err, want)
		}
	}
}

func TestSettingsWinOverTheFileAndTheLastOfThemWins(t *testing.T) {
	for _, c := range []struct {
		settings []string
		path     string
		want     any
	}{
		{nil, "workload.rate", 40.0},
		{[]string{"workload.rate=5", "workload.rate=7"}, "workload.rate", 7.0},
		{[]string{"workload.rate=inf"}, "workload.rate", "inf"},
		{[]string{"workload.arrivals={name: gamma, burstiness: 2}", "workload.arrivals=burst"}, "workload.arrivals", "burst"},
		{[]string{"scheduler=static", "scheduler.max_batch=9"}, "scheduler.name", "static"},
		{[]string{"scheduler=static", "scheduler.max_batch=9"}, "scheduler.max_batch", 9},
		{[]string{"workload.arrivals.burstiness=0.5", "workload.arrivals.name=gamma"}, "workload.arrivals.name", "gamma"},
		{[]string{"workload.prompt.mean=900"}, "workload.prompt.p99", 2048.0},
		{[]string{"workload.prompt=900"}, "workload.prompt.dist", "fixed"},
		{[]string{"workload={rate: 3}"}, "workload.requests", 1000},
		{[]string{"engine.max_model_len=8k"}, "engine.max_model_len", 8000},
		{[]string{"engine.max_model_len=8K"}, "engine.max_model_len", 8192},
		{[]string{"engine.kv_cache_memory_bytes=4GiB"}, "engine.kv_cache_memory_bytes", int64(4 << 30)},
		{[]string{"name=a: b"}, "name", "a: b"},
		{[]string{"engine.cudagraph_capture_sizes=[1, 2, 4]"}, "engine.enforce_eager", false},
		{[]string{"slo=none"}, "slo", nil},
		{[]string{"slo={ttft: 2s}"}, "slo.ttft", "2s"},
		{[]string{"slo={ttft: 2s}"}, "slo.tpot", nil},
		{[]string{"engine.profile=vllm-0.15"}, "engine.profile", "vllm-0.14"},
		{[]string{"engine.max_num_seqs=~"}, "engine.max_num_seqs", 1024},
	} {
		x := mustBuild(t, "chat", c.settings...)
		if got := x.Scenario.Map().Get(c.path); got != c.want {
			t.Errorf("%v: %s is %v (%T), want %v (%T)", c.settings, c.path, got, got, c.want, c.want)
		}
	}
}

func TestAnEmptyScenarioIsAllDefaults(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}", "engine:\nworkload:\n"} {
		x := mustBuild(t, text)
		if got := x.Scenario.Map(); got.Get("workload.rate") != 10.0 || got.Get("workload.requests") != 1000 || got.Get("slo.ttft") != "1s" || got.Get("scheduler") != "chunked" {
			t.Errorf("%q resolves to %s", text, got.JSON())
		}
		if len(x.Warnings) > 0 {
			t.Errorf("%q warns: %v", text, x.Warnings)
		}
	}
}

func TestAnchorsAndMergesAreRead(t *testing.T) {
	x := mustBuild(t, "workload:\n  prompt: &law {dist: fixed, mean: 7}\n  output:\n    <<: *law\n    mean: 9\n")
	if p, o := x.Scenario.Workload.Prompt, x.Scenario.Workload.Output; p.Mean != 7 || o.Mean != 9 || o.Dist != "fixed" {
		t.Errorf("got %+v and %+v", p, o)
	}
}

func TestAMissingScenarioOffersTheNearestOnes(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	// order does not matter: each name is tried by itself
	for name, want := range map[string]string{
		"caht": "did you mean chat?", "summarise": "did you mean summarize?",
		filepath.Join(dir, "mime.yaml"): "did you mean " + filepath.Join(dir, "mine.yaml"), dir: "cannot be read",
	} {
		if _, err := Open(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", name, err, want)
		}
	}
}

func TestAFileNamedByAScenarioIsRelativeToIt(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rows.csv", "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:50.9951690,396,109")
	d, err := Open(write("s.yaml", "workload: {arrivals: {file: rows.csv}}"))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.Scenario()
	if err != nil {
		t.Fatal(err)
	}
	x, err := s.Build()
	if err != nil {
		t.Fatal(err)
	}
	if r := mustRun(t, x, Options{}); r.Requests.Completed != 2 || r.Config.Get("workload.arrivals.file") != filepath.Join(dir, "rows.csv") {
		t.Errorf("%d requests completed, of %v", r.Requests.Completed, r.Config.Get("workload.arrivals.file"))
	}
}

func FuzzParseScenario(f *testing.F) {
	for _, e := range Names() {
		src, _ := Source(e.Name)
		f.Add(src)
	}
	for _, text := range []string{"a: &x {q: 1}\nb: *x\n", "workload: {rate: -1, rate: .nan}", "{\"seed\": 1e-05}", "a: [1,\n", "\t", "? a\n: b\n", "<<: *a"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		d, err := Parse("fuzz.yaml", src)
		if err != nil {
			return
		}
		s, err := d.Scenario()
		if err != nil {
			if err.Error() == "" {
				t.Error("an error without words")
			}
			return
		}
		again, err := Parse("again.json", s.Map().JSON())
		if err != nil {
			t.Fatalf("the configuration of a scenario that is right is not YAML: %v", err)
		}
		if _, err := again.Scenario(); err != nil && !strings.Contains(string(src), "file") {
			t.Fatalf("the configuration of a scenario that is right is wrong: %v\n%s", err, s.Map().JSON())
		}
	})
}
