package hardware

import "slices"

// CaptureSizes returns the token counts for which vLLM captures CUDA graphs: 1, 2, 4, then every 8th to 248, then every
// 16th, up to min(2·max_num_seqs, 512 (1024 on data-centre Blackwell), max_num_batched_tokens); the token budget itself
// is added where it is not larger.
func CaptureSizes(maxNumSeqs, maxTokens int, blackwell bool) []int {
	limit := 512
	if blackwell {
		limit = 1024
	}
	limit = min(limit, 2*maxNumSeqs, maxTokens)
	var sizes []int
	for n := 1; n <= limit; n = nextSize(n) {
		sizes = append(sizes, n)
	}
	if maxTokens == limit && limit > 0 && !slices.Contains(sizes, limit) {
		sizes = append(sizes, limit)
	}
	return sizes
}

// MultiplesOf returns the capture sizes rounded up to whole decodes of so many rows each, as vLLM captures them for
// speculative decoding: the newest token and its drafts. No size exceeds the largest before.
func MultiplesOf(rows int, sizes []int) []int {
	var whole []int
	for _, n := range sizes {
		n = ceilDiv(n, rows) * rows
		if n <= sizes[len(sizes)-1] && !slices.Contains(whole, n) {
			whole = append(whole, n)
		}
	}
	return whole
}

func nextSize(n int) int {
	switch {
	case n < 8:
		return 2 * n
	case n < 256:
		return n + 8
	}
	return n + 16
}

// What launching kernels one by one costs the CPU. Compiled kernels are launched by the CUDA runtime; in eager mode each
// goes through Python first: users report 10–25 µs, of which 20 is a choice. At 15 an 8B model on an H100 would not be
// slowed at all, which contradicts them; no measured eager run has confirmed either.
const (
	kernelsPerLayer = 12
	compiledLaunch  = 6e-6
	eagerLaunch     = 20e-6
)

// launches says which steps replay a captured graph, and what the others lose.
type launches struct {
	sizes   []int   // captured, ascending
	largest int     // of them; 0: none
	floor   float64 // seconds that launching the kernels of a step takes without a graph
}

func newLaunches(d Deployment, s shard) launches {
	layers := float64(s.layers)
	l := launches{sizes: d.Graphs, floor: compiledLaunch * kernelsPerLayer * layers}
	if d.eager() {
		l.sizes, l.floor = nil, eagerLaunch*kernelsPerLayer*layers
	}
	if k := len(l.sizes); k > 0 {
		l.largest = l.sizes[k-1]
	}
	return l
}

// eager reports whether d captures no graph at all.
func (d Deployment) eager() bool { return d.Eager || len(d.Graphs) == 0 }

// pad returns the token count that a step of n tokens is run with: the next captured size, or n itself when it is larger
// than all of them.
func (l *launches) pad(n int) int {
	if i, _ := slices.BinarySearch(l.sizes, n); i < len(l.sizes) {
		return l.sizes[i]
	}
	return n
}

// captured reports whether a step of n tokens replays a graph.
func (l *launches) captured(n int) bool { return n <= l.largest }

// gaps returns how long the GPU idles between the kernels of a step of n tokens that keep it busy for the given time. Without a
// graph it is never done before its kernels have been launched.
func (l *launches) gaps(n int, busy float64) float64 {
	if l.captured(n) || busy >= l.floor {
		return 0
	}
	return l.floor - busy
}
