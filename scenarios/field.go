package scenarios

import (
	"fmt"
	"slices"
	"strings"
)

// A field is one key of the scenario file. The table of fields is the single source of what may be written, what it
// means, and what happens when it is left out; reading, checking, writing and the JSON schema all follow it.
type field struct {
	path    string
	into    func(*Scenario) any // where the value goes; nil: nowhere, since only the default is accepted yet
	def     string              // the default as YAML; "": zero, which is then not written
	doc     string
	words   []word   // names for values that have no number
	choices []string // the only strings allowed
	planned []string // strings that a later version will understand
	limit   limit
	file    bool // the name of a file, relative to the scenario's own
	removed bool // vLLM has it no more: any value is read over

	base string                // the field in whose place it stands for the engines of a pool
	pool func(*Scenario) *Pool // … of which
}

// A word stands for a value: "auto", "none", "inf".
type word struct {
	word  string
	value float64
}

func (f *field) word(text string) (float64, bool) {
	for _, w := range f.words {
		if strings.EqualFold(w.word, text) {
			return w.value, true
		}
	}
	return 0, false
}

// A limit bounds a number. The zero limit bounds nothing.
type limit struct {
	must   string // "be positive": completes "must …"
	within func(float64) bool
}

func (l limit) check(v float64, text string) error {
	if l.within == nil || l.within(v) {
		return nil
	}
	return fmt.Errorf("must %s, got %s", l.must, text)
}

var (
	positive    = limit{"be positive", func(v float64) bool { return v > 0 }}
	notNegative = limit{"not be negative", func(v float64) bool { return v >= 0 }}
	atLeastOne  = limit{"be at least 1", func(v float64) bool { return v >= 1 }}
	fraction    = limit{"be above 0 and at most 1", func(v float64) bool { return v > 0 && v <= 1 }}
	belowOne    = limit{"be at least 0 and below 1", func(v float64) bool { return v >= 0 && v < 1 }}
	sane        = limit{"be above 0 and at most 1e9", func(v float64) bool { return v > 0 && v <= 1e9 }}
)

// A section is a mapping of the scenario file.
type section struct {
	path  string
	short string // the key that a single value in place of the mapping is for
	none  bool   // "none" in place of the mapping means that there is no such thing
	later bool   // must be left out: a later version will understand it
	doc   string
}

var sections = slices.Concat(oneEngine, poolSections("cluster.prefill", "prefill"), poolSections("cluster.decode", "decode"), aroundEngines)

var oneEngine = []section{
	{path: "hardware", doc: "What one engine runs on."},
	{path: "hardware.gpu", short: "name", doc: "A GPU by name, or the columns of a card of your own (a known name: its columns, with those given replaced)."},
	{path: "hardware.internode", short: "name", doc: "The link between nodes: a name, or bandwidth and latency."},
	{path: "hardware.kernels", doc: "Generations of kernels."},
	{path: "engine", doc: "The settings of `vllm serve`, under vLLM's names with underscores."},
	{path: "engine.kv_far_tier", short: "size", none: true, doc: "A disk or a remote store below the host's memory (kv_offloading_size)."},
	{path: "engine.constrained_decoding", short: "share", none: true, doc: "Answers that must follow a grammar (structured output)."},
	{path: speculative, none: true, doc: "Speculative decoding: a drafter guesses the next tokens of each sequence, and the next step verifies them."},
	{path: "scheduler", short: "name", doc: "The policy that forms batches."},
	{path: "scheduler.predictor", short: "name", doc: "What the order of the queue knows of the lengths of answers."},
	{path: "cluster", doc: "Several engines."},
	{path: "cluster.autoscale", none: true, doc: "Replicas that are started and stopped as the load asks for them."},
}

var aroundEngines = []section{
	{path: "cluster.transfer", short: "mode", doc: "How KV travels between the pools."},
	{path: "cluster.transfer.link", short: "name", doc: "The link between the engines: a name, or bandwidth and latency."},
	{path: "cluster.remote", short: "policy", doc: "Which prompts are computed by the engines that prefill."},
	{path: "frontend", doc: "What stands between the client and the engine."},
	{path: "workload", doc: "The load, as a benchmark client makes it."},
	{path: "workload.arrivals", short: "name", doc: "When requests arrive."},
	{path: "workload.prompt", short: "mean", doc: "Lengths of prompts, in tokens."},
	{path: "workload.output", short: "mean", doc: "Lengths of answers, in tokens."},
	{path: "workload.prefix", none: true, doc: "Beginnings that prompts share."},
	{path: "workload.clients", short: "count", doc: "Who sends the requests of an open load; policies that treat clients fairly, and routers, tell them apart."},
	{path: "workload.sessions", none: true, doc: "Conversations of several turns: each prompt is all that was said before, and a text of workload.prompt's length. Sessions begin at workload.rate divided by the mean number of turns, so that requests come at that rate in the long run."},
	{path: "workload.sessions.turns", short: "mean", doc: "Requests in a session."},
	{path: "slo", none: true, doc: "What a good request keeps; a limit that is left out is not asked for."},
}

// fields is the whole table in the order of a scenario file.
var fields = slices.Concat(generalFields, hardwareFields, engineFields(), schedulerFields(), orderFields, serverFields, autoscaleFields,
	poolFields("cluster.prefill", func(s *Scenario) *Pool { return &s.Cluster.Prefill }),
	poolFields("cluster.decode", func(s *Scenario) *Pool { return &s.Cluster.Decode }),
	transferFields, frontendFields, workloadFields,
	lengthFields("workload.prompt", func(s *Scenario) *Length { return &s.Workload.Prompt }, "Without the whole section: lognormal, mean 512, p99 2048"),
	lengthFields("workload.output", func(s *Scenario) *Length { return &s.Workload.Output }, "Without the whole section: lognormal, mean 200, p99 900"),
	loadFields,
	lengthFields("workload.sessions.turns", func(s *Scenario) *Length { return &s.Workload.Sessions.Turns }, "Without the whole section: one turn, which is no session"),
	sessionFields, targetFields("slo", func(s *Scenario) *SLO { return &s.SLO }))

func fieldAt(path string) *field {
	for i := range fields {
		if fields[i].path == path {
			return &fields[i]
		}
	}
	return nil
}

func sectionAt(path string) *section {
	for i := range sections {
		if sections[i].path == path {
			return &sections[i]
		}
	}
	return nil
}

// children returns the keys of a section, in the order of the table.
func children(path string) []string {
	var keys []string
	add := func(p string) {
		if in, key := parent(p); in == path && !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	for i := range fields {
		p := fields[i].path
		add(p)
		for in, _ := parent(p); in != ""; in, _ = parent(in) {
			add(in)
		}
	}
	for i := range sections {
		add(sections[i].path)
	}
	return keys
}
