package report

import "github.com/servesim/servesim/sim/metrics"

// tiers tells what the memory below the GPU's was worth: the host's, and the disk or store below that where there is one.
func tiers(o *metrics.KVOffload) []fact {
	if o == nil {
		return nil
	}
	facts := []fact{factf("host KV", "%s of %s tokens that the cache lacked found there; %s loaded, %s stored",
		percent(part(o.HitTokens, o.QueriedTokens)), count(o.QueriedTokens), size(float64(o.LoadedBytes)), size(float64(o.StoredBytes)))}
	if o.FarHitTokens+o.FarLoadedBytes+o.FarStoredBytes > 0 {
		facts = append(facts, factf("far KV", "%s of these tokens only in the tier below; %s loaded from it, %s stored",
			percent(part(o.FarHitTokens, o.HitTokens)), size(float64(o.FarLoadedBytes)), size(float64(o.FarStoredBytes))))
	}
	return facts
}

func part(of, whole int64) float64 { return float64(of) / float64(max(whole, 1)) }
