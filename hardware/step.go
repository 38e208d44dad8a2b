package hardware

import "time"

// A Step is all that a cost model may see of a batch: sums, so that its cost does not grow with the batch.
// Every row of a step — a decode, a prefill chunk, a recomputation — is "new tokens on top of past tokens";
// AddDecode and AddChunk are the one place where rows become sums.
type Step struct {
	Tokens  int // rows through the linear layers: the new tokens of all sequences
	Seqs    int // sequences in the step
	Decodes int // of which decode rows
	Sampled int // rows through the LM head

	AttnPairs int64 // Σ over prefill chunks of new×past + new×(new+1)/2: query–key pairs
	KVRead    int64 // Σ over decodes of past+1: the cached tokens each one reads
	PrefillKV int64 // Σ over prefill chunks of past+new: the cache they read
	ChunkRows int64 // Σ over prefill chunks of new

	KVShared int64 // of KVRead: cached tokens that another decode reads, too, beyond the first to read each

	// Of data-parallel ranks in lockstep: the rows that every rank runs, and those of all ranks, which the experts see.
	// Zero elsewhere: Tokens. See Roofline.Together.
	Rows, Group int

	// The same three sums for layers whose attention sees only a window of keys; zero when the model has none.
	WindowPairs, WindowKVRead, WindowPrefillKV int64

	Draft Drafting // zero without speculative decoding
}

// Window describes how far back the sliding-window layers of a model see. The zero Window means full attention
// everywhere.
type Window struct {
	Keys int // keys that a query may attend to, itself included; 0: no sliding-window layer
	Tile int // further keys that the kernel reads because it works in whole tiles
}

// AddDecode adds a sequence that computes one token on top of past cached ones.
func (s *Step) AddDecode(past int, w Window) {
	s.Tokens++
	s.Seqs++
	s.Decodes++
	s.Sampled++
	s.KVRead += int64(past) + 1
	if w.Keys > 0 {
		s.WindowKVRead += int64(min(past+1, w.Keys+w.Tile))
	}
}

// AddChunk adds a sequence that computes fresh tokens of a prompt (or of a recomputation) on top of past cached
// ones; sampled says whether its last row yields an output token.
func (s *Step) AddChunk(fresh, past int, sampled bool, w Window) {
	s.Tokens += fresh
	s.Seqs++
	if sampled {
		s.Sampled++
	}
	q, c := int64(fresh), int64(past)
	s.AttnPairs += q*c + q*(q+1)/2
	s.PrefillKV += c + q
	s.ChunkRows += q
	if w.Keys > 0 {
		s.WindowPairs += windowPairs(q, c, int64(w.Keys))
		s.WindowPrefillKV += min(c+q, int64(w.Keys+w.Tile)+q)
	}
}

// Add adds the rows of another step.
func (s *Step) Add(t Step) {
	s.Tokens += t.Tokens
	s.Seqs += t.Seqs
	s.Decodes += t.Decodes
	s.Sampled += t.Sampled
	s.AttnPairs += t.AttnPairs
	s.KVRead += t.KVRead
	s.PrefillKV += t.PrefillKV
	s.ChunkRows += t.ChunkRows
	s.KVShared += t.KVShared
	s.WindowPairs += t.WindowPairs
	s.WindowKVRead += t.WindowKVRead
	s.WindowPrefillKV += t.WindowPrefillKV
}

// windowPairs returns Σ over the q new rows of min(c+i, w), i = 1..q: the pairs left when each query sees w keys.
func windowPairs(q, c, w int64) int64 {
	growing := min(max(w-c, 0), q) // rows that still see everything
	return growing*c + growing*(growing+1)/2 + (q-growing)*w
}

// Causes splits a span of time by what it was spent on.
type Causes struct {
	Compute  time.Duration // arithmetic
	Weights  time.Duration // streaming weights and activations from memory
	KVRead   time.Duration // streaming the KV cache from memory
	Network  time.Duration // collectives and hops between GPUs
	Overhead time.Duration // launches, ramps, the host
}

// Total returns the span that the causes add up to.
func (c Causes) Total() time.Duration {
	return c.Compute + c.Weights + c.KVRead + c.Network + c.Overhead
}

// A Cost is the price of a step on one GPU of one pipeline stage.
type Cost struct {
	Device  time.Duration // on the GPU
	Exposed time.Duration // on the host, hidden by nothing: always adds
	Host    time.Duration // on the host; hides behind Device when scheduling is asynchronous, adds when it is not
	Hop     time.Duration // from one pipeline stage to the next; zero without pipeline parallelism
	By      Causes        // splits Device + Hop

	// Per GPU: arithmetic done, memory traffic, and all the energy drawn during Device. In the gaps between steps a GPU
	// draws its Kernels.IdleWatts.
	FLOPs, Bytes, Joules float64
}

// CostModel prices steps. Cost must be pure: equal steps cost the same.
type CostModel interface{ Cost(Step) Cost }

// Filler is a CostModel that also prices in place: Fill writes to c what Cost returns for s. It saves the copies, which
// are a third of the work.
type Filler interface{ Fill(c *Cost, s *Step) }
