package scheduler

import (
	"math"

	"github.com/servesim/servesim/kvcache"
)

// A reservation is memory that an admission leaves to those who run already, for answers that are still to come. It is
// counted against max_tokens, the only bound that a server knows, never against how long an answer will turn out to be.
//
//	share   0              r in (0, 1)             1
//	        none           expected                full
//	        vLLM, Sarathi  SGLang                  TensorRT-LLM, Orca, static
//	        admits most    in between              never preempts, and leaves most of the pool idle
type reservation struct {
	share float64 // of what a running sequence may still generate
	clip  int32   // nobody counts for more tokens to come than this
	aside int     // blocks reserved for others in the admission pass under way
}

// full is the reservation of everything that may still be generated.
func full() reservation { return reservation{share: 1, clip: math.MaxInt32} }

// total reports whether the reservation is full, and stays so.
func (r *reservation) total() bool { return r.share >= 1 && r.clip == math.MaxInt32 }

// A grip says how much memory a sequence takes when it is admitted; the rest it takes as it grows.
type grip uint8

const (
	chunkOnly   grip = iota // its first chunk
	wholePrompt             // all that it knows
	wholeAnswer             // all that it may ever have, in one piece
)

// whole returns all the tokens that s takes memory for at once.
func (b *batcher) whole(s *Seq) int32 {
	if b.grip == wholePrompt {
		return min(s.Known(), b.maxLen)
	}
	return b.final(s)
}

// final returns the most tokens that s may have to hold: the last one that it generates is never fed back.
func (b *batcher) final(s *Seq) int32 {
	return int32(min(int64(s.Prompt)+max(int64(s.MaxTokens)-1, 0), int64(b.maxLen)))
}

// outlook returns the tokens that s is counted for when `share` of what it may still generate is.
func (b *batcher) outlook(s *Seq, share float64) int32 {
	left := min(s.MaxTokens-s.Out-s.Pending, b.reserve.clip)
	return min(max(s.Computed, s.fill, s.Known())+int32(math.Ceil(share*float64(max(left, 0)))), b.final(s))
}

// lack returns the blocks that a running sequence takes from the pool until it has so many tokens.
func (b *batcher) lack(s *Seq, tokens int32) int {
	have := s.Computed
	if s.Unnamed() {
		have += int32(b.cohort.beat - s.joined)
	}
	switch b.grip {
	case wholePrompt:
		have = max(have, s.fill)
	case wholeAnswer:
		have = b.final(s)
	}
	return b.cache.Need(kvcache.Hit{Tokens: b.blocks(have) * int(b.blockSize)}, int(tokens))
}

// owed returns the blocks that are reserved for the running beyond those that they hold.
func (b *batcher) owed() (blocks int) {
	for _, s := range b.running.list() {
		blocks += b.lack(s, b.outlook(s, b.reserve.share))
	}
	return blocks
}

// reserved is admit for a policy that reserves memory.
func (b *batcher) reserved(p *Plan, d door) {
	if b.budget > 0 && (b.running.n < b.limits.MaxNumSeqs || b.takesSeats()) && b.someoneWaits() {
		b.reserve.aside = b.owed()
		b.admit(p, d)
	}
}

// book is seat for a policy that reserves memory: it wants room for all that is reserved, for itself without a discount,
// and `spare` blocks more. A sequence that has the engine for itself need not reserve anything.
func (b *batcher) book(p *Plan, s *Seq, hit kvcache.Hit, n int32, spare int) bool {
	ahead := b.outlook(s, 1)
	if b.running.n > 0 && b.cache.Need(hit, int(ahead))+b.reserve.aside+spare > b.cache.Available() {
		return false
	}
	if !b.seat(p, s, hit, n, 0) {
		return false
	}
	b.reserve.aside += b.lack(s, ahead)
	return true
}

// tooBigInOnePiece is tooBig for a policy that takes the memory of so many tokens at once, in every kind of layer.
func (b *batcher) tooBigInOnePiece(tokens int32, spare int) string {
	if r := b.tooBig(tokens, spare); r != "" {
		return r
	}
	layers := b.cache.Need(kvcache.Hit{}, 1)
	return tooMany(tokens, b.blocks(tokens)*layers, b.total-spare)
}
