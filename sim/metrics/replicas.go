package metrics

// ReplicaUse is what one engine of several did. Shares of time are of its own GPUs.
type ReplicaUse struct {
	Name        string       `json:"name"`
	GPU         string       `json:"gpu"`
	GPUs        int          `json:"gpus"`
	Requests    int          `json:"requests"` // that were sent to it, over the whole run; of a request that two engines share each has a part
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

// replicaUses describes each engine, over window nanoseconds.
func replicaUses(ws []used, window float64) []ReplicaUse {
	list := make([]ReplicaUse, len(ws))
	for i, w := range ws {
		c := w.counters()
		list[i] = ReplicaUse{
			Name: w.e.Name, GPU: w.e.GPU, GPUs: w.e.GPUs, Requests: w.requests,
			Steps: w.use.steps, Preemptions: c.Preemptions - w.before.Preemptions,
			Busy:  ratio(float64(w.use.busy.total()), window),
			Batch: ReplicaBatch{MeanRunning: ratio(w.use.running, window), PeakRunning: w.use.peakRunning},
			KV:    ReplicaKV{Blocks: w.e.Blocks, MeanUsage: ratio(w.use.held, window), PeakUsage: w.use.peak},
			PrefixCache: PrefixCache{
				QueriedTokens: c.PrefixQueries - w.before.PrefixQueries, HitTokens: c.PrefixHits - w.before.PrefixHits,
			},
		}
	}
	return list
}
