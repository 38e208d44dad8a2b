package metrics

import "github.com/servesim/servesim/sim"

// ReplicaUse is what one engine of several did. Shares of time are of its own GPUs.
type ReplicaUse struct {
	Name        string       `json:"name"`
	GPU         string       `json:"gpu"`
	GPUs        int          `json:"gpus"`
	Requests    int          `json:"requests"` // that were sent to it, over the whole run; of a request that two engines share each has a part
	UpS         float64      `json:"up_s"`     // seconds that it was there after the warm-up
	Steps       int64        `json:"steps"`
	Preemptions int64        `json:"preemptions"`
	Busy        float64      `json:"busy"`
	Batch       ReplicaBatch `json:"batch"`
	KV          ReplicaKV    `json:"kv"`
	PrefixCache PrefixCache  `json:"prefix_cache"`
}

// ReplicaBatch is BatchUse of one engine.
type ReplicaBatch struct {
	MeanRunning float64 `json:"mean_running"`
	PeakRunning int     `json:"peak_running"`
}

// ReplicaKV is KVUse of one engine.
type ReplicaKV struct {
	Blocks    int     `json:"blocks"`
	MeanUsage float64 `json:"mean_usage"`
	PeakUsage float64 `json:"peak_usage"`
}

// Fleet is what it took to have several engines: replicas times seconds, from the decision to start one until it had
// served its last request. Started and Stopped are those that an autoscaler decided.
type Fleet struct {
	ReplicaSeconds float64 `json:"replica_seconds"`
	GPUHours       float64 `json:"gpu_hours"`
	MeanReplicas   float64 `json:"mean_replicas"`
	PeakReplicas   int     `json:"peak_replicas"`
	Started        int     `json:"started"`
	Stopped        int     `json:"stopped"`
}

// replicaUses describes each engine, over the time that it was there.
func replicaUses(ws []used) []ReplicaUse {
	list := make([]ReplicaUse, len(ws))
	for i, w := range ws {
		c := w.counters()
		list[i] = ReplicaUse{
			Name: w.e.Name, GPU: w.e.GPU, GPUs: w.e.GPUs, Requests: w.requests, UpS: w.window / 1e9,
			Steps: w.use.steps, Preemptions: c.Preemptions - w.before.Preemptions,
			Busy:  ratio(float64(w.use.busy.total()), w.window),
			Batch: ReplicaBatch{MeanRunning: ratio(w.use.running, w.window), PeakRunning: w.use.peakRunning},
			KV:    ReplicaKV{Blocks: w.e.Blocks, MeanUsage: ratio(w.use.held, w.window), PeakUsage: w.use.peak},
			PrefixCache: PrefixCache{
				QueriedTokens: c.PrefixQueries - w.before.PrefixQueries, HitTokens: c.PrefixHits - w.before.PrefixHits,
			},
		}
	}
	return list
}

// fleetUse sums up how long the engines were there, in a run of window nanoseconds.
func fleetUse(ws []used, window float64) *Fleet {
	f := &Fleet{PeakReplicas: most(ws, func(*watch) int { return 1 })}
	present := 0.0
	for _, w := range ws {
		present += w.window
		f.GPUHours += w.window / 3600e9 * float64(w.e.GPUs)
		if w.e.Up == nil {
			continue
		}
		from, to := w.e.Up()
		if from > 0 {
			f.Started++
		}
		if to < sim.Never {
			f.Stopped++
		}
	}
	f.ReplicaSeconds, f.MeanReplicas = present/1e9, ratio(present, window)
	return f
}

// mostGPUs returns the largest number of GPUs that there were at once.
func mostGPUs(ws []used) int { return most(ws, func(w *watch) int { return w.e.GPUs }) }

// most returns the largest sum of the weights of engines that were there at once. It is reached when one starts.
func most(ws []used, weight func(*watch) int) int {
	best := 0
	for _, w := range ws {
		at := sim.Time(0)
		if w.e.Up != nil {
			at, _ = w.e.Up()
		}
		sum := 0
		for _, v := range ws {
			if v.there(at) {
				sum += weight(v.watch)
			}
		}
		best = max(best, sum)
		if w.e.Up == nil { // all of these are there from the start
			break
		}
	}
	return best
}

// there reports whether the engine was there at an instant.
func (w *watch) there(at sim.Time) bool {
	if w.e.Up == nil {
		return true
	}
	from, to := w.e.Up()
	return from <= at && at < to
}

// meanGPUs returns how many GPUs there were on average.
func (rep *Report) meanGPUs() float64 {
	if rep.Fleet == nil || rep.Fleet.Started+rep.Fleet.Stopped == 0 {
		return float64(rep.GPU.Count)
	}
	return ratio(rep.Fleet.GPUHours*3600, rep.DurationS)
}
