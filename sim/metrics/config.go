package metrics

import (
	"io"
	"time"

	"github.com/servesim/servesim/hardware"
	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
	"github.com/servesim/servesim/sim"
	"github.com/servesim/servesim/sim/engine"
)

// Config says what to measure.
type Config struct {
	SLO SLO
	// Classes are those of the workload, by their number; two or more are reported one by one. A request of none of them
	// is judged by SLO.
	Classes []Class
	// Clients asks how evenly clients are served.
	Clients bool
	// Warmup leaves a request that arrives before it out of everything measured per request: tokens, throughput, goodput,
	// latency and the attribution of TTFT and TPOT. What engines and GPUs do, peaks included, counts from it on. Requests,
	// rejections, Little's law and the verdict are of the whole run.
	Warmup sim.Time
	// Open says that requests come at a finite rate whatever the server does. A burst and a closed loop do not, and are
	// never called overloaded.
	Open bool
	// PerToken watches every token instead of the engine's summary of each step, so that ITL pools the gaps of completed
	// requests only. It is slower, and worth it when clients may give up; a warm-up or an ITL target implies it.
	PerToken bool
	// Percentiles are reported beside the usual ones, each in (0, 100).
	Percentiles []float64
	// Rows receives one CSV row per request, in the order of arrival at the server; nil: none. See Recorder.Flush.
	Rows io.Writer
	// Disaggregation describes how engines share requests; nil: they do not.
	Disaggregation *Disaggregation
	// Ended hears now and then how many requests have ended; nil: nobody asks.
	Ended func(ended int)
	// Several says that more than one engine may be watched: rows name the replica, and the report lists them.
	Several bool
	// Engine describes the engine that Recorder.Hooks watches.
	Engine Engine
}

// SLO is what a request must meet to be good; a target of 0 is none. ITL bounds the largest gap of an answer.
type SLO struct{ TTFT, TPOT, E2EL, ITL time.Duration }

// none reports whether there is no target at all.
func (s SLO) none() bool { return s == SLO{} }

// Engine is what a recorder must know of an engine that it watches. Whatever is left zero is reported as zero.
type Engine struct {
	Name string // of the replica, where there are several
	GPU  string // name of its GPUs

	Cost   hardware.CostModel // prices steps as they would have been; nil: nothing counts as interference
	Window hardware.Window    // as the scheduler's: it turns chunks into sums

	GPUs                     int     // of this engine; 0 means 1
	PeakFLOPs, PeakBandwidth float64 // of one GPU: FLOP/s at the dtype that runs, bytes/s
	IdleWatts                float64 // of one GPU between steps; what it draws in them is in their cost
	WeightBytes              int64   // what one GPU holds apart from the KV pool

	Blocks, BlockSize int
	BytesPerToken     float64 // of KV, on all GPUs together
	BlockBytes        int64   // of one KV block on one GPU

	// Ingress is what every request spends on its way in, however idle the engine: it waits for nobody then.
	Ingress time.Duration

	// Up returns when its GPUs were taken and given back; nil: they are there all the time.
	Up       func() (from, to sim.Time)
	Usage    func() kvcache.Usage      // of the KV pool, sampled at every step
	Counters func() scheduler.Counters // read at the end, and at every plan of the warm-up
	Drafted  func() engine.Drafted     // likewise; nil: nothing is drafted
}
