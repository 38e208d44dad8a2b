package scheduler

import "math/bits"

// Blocks of tokens. A product takes a fraction of the time of a division: the inverse of a block's size in units of 2⁻⁶³,
// rounded up, errs by less than one block in 2³¹ for half a word of tokens.

// filled returns how many blocks so many tokens fill.
func (b *batcher) filled(tokens int32) int {
	n, _ := bits.Mul64(2*uint64(uint32(tokens)), b.inverse)
	return int(n)
}

// blocks returns the blocks that hold so many tokens.
func (b *batcher) blocks(tokens int32) int { return b.filled(tokens + b.blockSize - 1) }

// floor returns so many tokens less those in a block that they do not fill.
func (b *batcher) floor(tokens int32) int32 { return int32(b.filled(tokens)) * b.blockSize }

// nextFull returns the known tokens at which another block fills.
func (b *batcher) nextFull(known int32) int32 { return b.floor(known) + b.blockSize }
