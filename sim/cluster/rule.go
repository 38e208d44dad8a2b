package cluster

// A Question is what a rule may look at when it decides on a request.
type Question struct {
	Tokens         int // in the prompt
	Cached         int // of which the decoding engine's prefix cache has the KV
	PrefillWaiting int // requests that wait for their prefill, at all engines of that kind
	DecodeWaiting  int // requests that wait at the decoding engine
}

// A Rule decides whether another engine computes a prompt, or the one that will decode does so itself. Without one another
// engine computes them all.
type Rule interface{ Remote(Question) bool }

// ByLength is Dynamo's first rule (disaggregated router, 0.2): a prompt goes to another engine if more of it than
// MaxLocalPrefillLength tokens is not cached, as long as fewer than MaxPrefillQueueSize requests wait there.
type ByLength struct{ MaxLocalPrefillLength, MaxPrefillQueueSize int }

// Remote implements Rule.
func (b ByLength) Remote(q Question) bool {
	return q.Tokens-q.Cached > b.MaxLocalPrefillLength && q.PrefillWaiting < b.MaxPrefillQueueSize
}

// ByLengthOrLoad is Dynamo's newer rule (1.5, isl_or_load): a prompt stays if what is not cached of it is short, in tokens
// or as a share of it, and the decoding engine is not busy. What counts as busy Dynamo leaves to its metrics; here an
// engine is when anybody waits at it.
type ByLengthOrLoad struct {
	EffISLThreshold      int
	EffISLRatioThreshold float64
}

// Remote implements Rule.
func (b ByLengthOrLoad) Remote(q Question) bool {
	rest := q.Tokens - q.Cached
	short := rest <= b.EffISLThreshold || float64(rest) <= b.EffISLRatioThreshold*float64(q.Tokens)
	return !short || q.DecodeWaiting > 0
}
