package scenarios_test

import (
	"context"
	"fmt"
	"slices"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scenarios"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
)

// polite is a batching policy from outside: vLLM's, but long prompts come in only while nobody else waits and few run.
type polite struct {
	scheduler.Scheduler
	long []*scheduler.Seq
}

func (p *polite) Add(s *scheduler.Seq) {
	if s.Prompt > 1000 {
		p.long = append(p.long, s)
		return
	}
	p.Scheduler.Add(s)
}

func (p *polite) Plan(now sim.Time) *scheduler.Plan {
	if running, waiting := p.Scheduler.Load(); len(p.long) > 0 && waiting == 0 && running < 64 {
		p.Scheduler.Add(p.long[0])
		p.long = p.long[1:]
	}
	return p.Scheduler.Plan(now)
}

func (p *polite) Drop(s *scheduler.Seq) {
	if i := slices.Index(p.long, s); i >= 0 {
		p.long = slices.Delete(p.long, i, i+1)
		s.State = scheduler.Gone
		return
	}
	p.Scheduler.Drop(s)
}

func (p *polite) Load() (running, waiting int) {
	running, waiting = p.Scheduler.Load()
	return running, waiting + len(p.long)
}

// A batching policy of one's own is a value, too: the scenario, its report and all checks remain.
func ExampleOptions_scheduler() {
	play := func(o scenarios.Options) *scenarios.Result {
		doc, _ := scenarios.Open("chat")
		_ = doc.Set("workload.requests", "600", "example")
		_ = doc.Set("workload.rate", "60", "example")
		s, _ := doc.Scenario()
		x, _ := s.Build()
		o.Check = true
		r, err := x.Run(context.Background(), o)
		if err != nil {
			fmt.Println(err)
		}
		return r
	}
	usual := play(scenarios.Options{})
	kind := play(scenarios.Options{Scheduler: func(l scheduler.Limits, c kvcache.Cache) scheduler.Scheduler {
		return &polite{Scheduler: scheduler.Chunked(l, c)}
	}})
	fmt.Println("answered:", kind.Requests.Completed)
	fmt.Println("half of all have their first token sooner:", kind.Latency.TTFT.P50 < usual.Latency.TTFT.P50)
	fmt.Println("somebody waits longer:", kind.Latency.TTFT.Max > usual.Latency.TTFT.Max)
	// Output:
	// answered: 600
	// half of all have their first token sooner: true
	// somebody waits longer: true
}
