package kvcache

// SeqID names a sequence to the cache. IDs are small and dense: whoever hands them out reuses them after Release.
type SeqID int32

// Run is a stretch of tokens known only by its label: token j of a label is the same token everywhere, so equal
// leading runs are shared prefixes. Labels are never materialised token by token.
type Run struct {
	Label uint64
	Len   int32
}

// Private marks the label of a run that no other sequence has: the tail of a prompt that occurs once, an answer that
// nobody will go on from. It makes a cache faster and changes nothing else, for what nobody will ask for need only be
// counted. While a sequence holds memory, no other one that does may have a run of the same private label.
const Private uint64 = 1 << 63

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
	Tokens  int // a multiple of the block size
	Idle    int // hit blocks that nobody holds: adopting them shrinks the free pool
	Queried int // tokens that were looked up; 0 when the cache keeps no prefixes
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

// Claim is the memory that a sequence asks for at its admission.
type Claim struct {
	Tokens int // that must fit
	Known  int // those of them that have content: the full blocks of the first min(Tokens, Known) become findable
	Spare  int // blocks that must stay available afterwards
}

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
	// Match has just returned it for p), and new ones as c claims. The prompt p may go on beyond c.Tokens; it
	// ends in the answer's run. It must stay unchanged until Release.
	Admit(id SeqID, p Prompt, h Hit, c Claim) bool
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
	// Available reads only: the blocks that can be taken now, free or cached.
	Available() int
	// Counters reads only.
	Counters() Counters
	// BlockSize is the tokens in a block.
	BlockSize() int
}

// Slider is a Cache some of whose layers see only a window of keys, and so need fewer blocks than the sequence has.
type Slider interface {
	// Slides reads only. It reports whether any layer has a window: if none has, there is never anything to take back.
	Slides() bool
	// Slide changes the cache: it takes back the blocks of id that lie wholly outside the windows of the tokens
	// still to be computed, from position `computed` on. It returns the number of computed tokens at which there
	// will be more to take back.
	Slide(id SeqID, computed int) (next int)
}

// Steady is a Cache that many decodes at once can grow in: their blocks are taken when they are due, by number alone,
// and each sequence is told of its own when it is next touched.
type Steady interface {
	// Leave changes the cache as Settle and then Release do, for a sequence that will not come back: its private content
	// need not be found again. The blocks are overwritten in the same order. One that has settled leaves with no tokens.
	Leave(id SeqID, tokens, known int)
	// Plain reads only. It reports whether id will grow by tokens that are private to it and by nothing else, so that
	// nobody can see whether it has grown yet.
	Plain(id SeqID) bool
	// Take changes the cache, or nothing at all when it returns false: so many available blocks are in use from now
	// on, though no sequence holds them yet.
	Take(blocks int) bool
	// Settle changes the cache: id, which must be plain, grows to `tokens` tokens as in Grow, but by blocks that have
	// been taken.
	Settle(id SeqID, tokens, known int)
}
