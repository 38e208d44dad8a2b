package kvcache

// SeqID names a sequence to the cache. IDs are small and dense: whoever hands them out reuses them after Release.
type SeqID int32

// Run is a stretch of tokens known only by its label: token j of a label is the same token everywhere, so equal
// leading runs are shared prefixes. Labels are never materialised token by token.
type Run struct {
	Label uint64
	Len   int32
}

// Prompt is a sequence of tokens as runs. The tokens a model generates are a run too.
type Prompt []Run

// Tokens returns the length of the prompt in tokens.
func (p Prompt) Tokens() int {
	n := 0
	for _, r := range p {
		n += int(r.Len)
	}
	return n
}

// Hit is what a lookup found: leading tokens of a prompt whose blocks are in the cache.
type Hit struct {
	Tokens int // a multiple of the block size
	Idle   int // hit blocks that nobody holds: adopting them shrinks the free pool
}

// Usage counts the usable blocks of a pool: Free + Cached + Held == Total, always.
type Usage struct {
	Free   int // blank: hold nothing
	Cached int // hold a findable prefix, but nobody uses it: free to be overwritten
	Held   int // in use by at least one sequence
	Total  int
}

// Available returns the blocks that can be taken now.
func (u Usage) Available() int { return u.Free + u.Cached }

// Counters are running totals of a cache.
type Counters struct {
	Evicted int64 // findable blocks that were overwritten
}

// Cache is the KV memory of one engine. Every method says whether it changes the cache.
type Cache interface {
	// Match reads only. It returns the longest cached prefix of the first `tokens` tokens of p that leaves at
	// least one token to compute.
	Match(p Prompt, tokens int) Hit
	// Admit changes the cache, or nothing at all when it returns false. It gives id the blocks of hit h (as
	// Match has just returned it for p), and new ones so that `tokens` tokens fit, if at least `spare` blocks
	// stay available afterwards. The prompt p may go on beyond `tokens`; it ends in the answer's run. Full
	// blocks of the first min(tokens, known) tokens become findable.
	Admit(id SeqID, p Prompt, h Hit, tokens, known, spare int) bool
	// Need reads only. It returns how many blocks leave the available pool when a prompt with hit h is admitted
	// with room for `tokens` tokens.
	Need(h Hit, tokens int) int
	// Grow changes the cache, or nothing at all when it returns false: room for `tokens` tokens in all, full
	// blocks of the first min(tokens, known) findable.
	Grow(id SeqID, tokens, known int) bool
	// Know changes only what is findable: outputs have arrived, the first `known` tokens now have content.
	Know(id SeqID, known int)
	// Release changes the cache: id gives up its blocks. Findable ones stay so until they are overwritten, the
	// tail of the sequence first.
	Release(id SeqID)
	// Usage reads only.
	Usage() Usage
	// Counters reads only.
	Counters() Counters
	// BlockSize is the tokens in a block.
	BlockSize() int
}
