package scenarios

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim/engine"
	"github.com/servesim/servesim/sim/workload"
)

// orderNames are the orders of the waiting queue. vLLM has the first two.
var orderNames = []string{"fcfs", "priority", "sjf", "srpt", "mlfq", "fair", "edf", "slo", "lcfs"}

// orderFields are the settings that single orders know.
var orderFields = []field{
	{path: "scheduler.predictor.name", into: func(s *Scenario) any { return &s.Scheduler.Predictor.Name }, choices: []string{"oracle", "noisy", "prompt"}, doc: "What sjf and srpt know of the lengths of answers: oracle = the truth (if left out), noisy = the truth times a random factor, prompt = as long as the prompt or max_tokens."},
	{path: "scheduler.predictor.error", into: func(s *Scenario) any { return &s.Scheduler.Predictor.Error }, def: "0.3", limit: notNegative, doc: "noisy: standard deviation of the logarithm of the factor, which is lognormal with median 1."},
	{path: "scheduler.quantum", into: func(s *Scenario) any { return &s.Scheduler.Quantum }, def: "auto", words: autoWord, limit: positive, doc: "mlfq: time on the first level, doubling from level to level; auto = that of the shortest step."},
	{path: "scheduler.starvation", into: func(s *Scenario) any { return &s.Scheduler.Starvation }, def: "30s", words: noneWord, limit: positive, doc: "mlfq: who has waited for so long returns to the first level."},
	{path: "scheduler.chunk_by_slack", into: func(s *Scenario) any { return &s.Scheduler.ChunkBySlack }, def: "false", doc: "slo: chunks of prompts are no larger than lets the step end before the next token of any decode is due."},
}

// The weights of a prompt token and of an answer's token in a client's account: those of the VTC paper.
const (
	fairInput  = 1
	fairOutput = 2
)

// order returns the order of one engine's queue; nil: first come, first served. An order keeps accounts, so that every
// engine of every run has one of its own.
func (x *Experiment) order(o *Options) scheduler.Order {
	if o.Order != nil {
		return o.Order()
	}
	s := x.Scenario
	switch s.Engine.SchedulingPolicy {
	case "priority":
		return scheduler.Priority()
	case "sjf":
		return scheduler.SJF()
	case "srpt":
		return scheduler.SRPT()
	case "mlfq":
		return scheduler.MLFQ(x.cost, scheduler.Levels{Quantum: s.Scheduler.Quantum, Starvation: s.Scheduler.Starvation})
	case "fair":
		return scheduler.Fair(fairInput, fairOutput)
	case "edf":
		return scheduler.EDF(s.targets)
	case "slo":
		if s.Scheduler.ChunkBySlack && s.idle("scheduler.chunk_by_slack") == "" {
			return scheduler.Paced(x.cost, s.targets)
		}
		return scheduler.SLO(x.cost, s.targets)
	case "lcfs":
		return scheduler.LCFS()
	}
	return nil
}

// targets returns the deadlines of a request.
func (s *Scenario) targets(q *scheduler.Seq) scheduler.Targets {
	slo := s.slo(int(q.Class))
	return scheduler.Targets{TTFT: slo.TTFT, TPOT: slo.TPOT}
}

// hurries returns the different targets for a first token that requests have.
func (s *Scenario) hurries() (ttft []time.Duration) {
	for i := range max(len(s.Workload.Classes), 1) {
		ttft = append(ttft, s.slo(i).TTFT)
	}
	slices.Sort(ttft)
	return slices.Compact(ttft)
}

// predictor returns what tells the order how long answers will be; nil: nothing does. Where an order wants to know and no
// predictor was chosen, it is told the truth.
func (x *Experiment) predictor(o *Options, stream func(string) rand.Source) func(*workload.Request) int32 {
	p := x.Scenario.Scheduler.Predictor
	switch {
	case o.Predict != nil:
		return o.Predict
	case !x.Scenario.predicts():
		return nil
	case p.Name == "noisy":
		return engine.Noisy(p.Error, stream("predictor"))
	case p.Name == "prompt":
		return engine.ByPrompt
	}
	return engine.Oracle
}

// predicts reports whether the order goes by predicted lengths.
func (s *Scenario) predicts() bool {
	return slices.Contains([]string{"sjf", "srpt"}, s.Engine.SchedulingPolicy)
}

func orderIs(name string) func(*Scenario) bool {
	return func(s *Scenario) bool { return s.Engine.SchedulingPolicy == name }
}

// orderIdle says why the order of the queue changes nothing, or "".
func orderIdle(s *Scenario) string {
	switch s.Engine.SchedulingPolicy {
	case "priority":
		if s.onePriority() {
			return "while all requests have the same priority (see workload.classes)"
		}
	case "fair":
		if s.oneClient() {
			return "while all requests come from one client"
		}
	case "edf", "slo":
		if ttft := s.hurries(); ttft[len(ttft)-1] == 0 {
			return "without slo.ttft, from which deadlines follow"
		}
	}
	return ""
}

// oneClient reports whether the workload makes all requests come from the same client.
func (s *Scenario) oneClient() bool {
	a := &s.Workload.Arrivals
	if a.Name == "closed" {
		return a.Clients == 1
	}
	return notTrace(s) && len(s.Workload.Clients.shares()) < 2
}

// paces reports whether some requests have deadlines for each token.
func (s *Scenario) paces() bool {
	for i := range max(len(s.Workload.Classes), 1) {
		if slo := s.slo(i); slo.TTFT > 0 && slo.TPOT > 0 {
			return true
		}
	}
	return false
}

// neverPreempts reports whether the batching policy leaves everybody it has admitted in its place.
func (s *Scenario) neverPreempts() bool {
	switch s.Scheduler.Name {
	case "static", "orca":
		return true
	case "trtllm":
		return s.Scheduler.CapacityPolicy == noEvict
	}
	return false
}

// orderNotes says what the order of the queue rests on, and where it does less than its name promises.
func (s *Scenario) orderNotes() (notes []string) {
	name, p := s.Engine.SchedulingPolicy, s.Scheduler.Predictor.Name
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	switch {
	case !s.predicts():
	case p == "":
		note("scheduling_policy %s is told the true lengths of answers, which no server knows: choose a scheduler.predictor, noisy or prompt", name)
	case p == "oracle":
		note("scheduling_policy %s is told the true lengths of answers, which no server knows (scheduler.predictor oracle)", name)
	case p == "prompt" && s.Workload.MaxTokens == 0 && notTrace(s):
		note("scheduler.predictor prompt sees max_tokens, and without workload.max_tokens every client asks for exactly the tokens that it will get")
	}
	if ttft := s.hurries(); name == "edf" && len(ttft) == 1 && ttft[0] > 0 {
		note("scheduling_policy edf: with the same slo.ttft for all, the first to come has the earliest deadline, as under fcfs; only preempted requests are treated otherwise")
	}
	if slices.Contains([]string{"srpt", "mlfq"}, name) && s.neverPreempts() {
		policy, _ := scheduler.FindPolicy(s.Scheduler.Name)
		note("scheduling_policy %s takes no seats under %s, which preempts nobody: it decides who is admitted next", name, policy.Title)
	}
	return notes
}
