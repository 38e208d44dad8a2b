package kvcache

import "math/bits"

// A block's key stands for all tokens up to its end. It is chained, as in vLLM,
//
//	h(i) = H(h(i-1), content of block i),
//
// so that equal blocks after different prefixes differ. The content is the list of pieces (label, offset, length) of
// runs that the block covers. Token j of a label is the same everywhere and a run begins with its token 0, so equal
// contents have equal pieces, and different contents different ones. Sixty-four bits leave a chance of about 10⁻¹⁰
// that any two of 60,000 blocks collide; vLLM uses SHA-256.
//
// Where a run goes on, so does the text, in one way only. So the blocks within a run need no hashes of their own: they form
// stretches, and a block's key is the hash of its stretch's first block, and its place in the stretch.
type key struct {
	hash uint64 // 0: the block cannot be found
	at   int32
}

// stretch is the most blocks in a stretch. The index walks its segments, and at worst each is a single block.
const stretch = 3 * inLine

// Odd constants without structure: the golden ratio, and digits of π (as in Blowfish's tables).
const (
	golden uint64 = 0x9e3779b97f4a7c15
	pi1    uint64 = 0x243f6a8885a308d3
	pi2    uint64 = 0x13198a2e03707345
)

// mix adds one piece to a hash.
func mix(h, label uint64, offset, length int32) uint64 {
	hi, lo := bits.Mul64(h^label^pi1, golden)
	piece := uint64(uint32(offset))<<32 | uint64(uint32(length))
	hi, lo = bits.Mul64(hi^lo^pi2, piece^golden)
	return hi ^ lo
}

// A cursor walks a prompt block by block. The zero cursor stands at its beginning.
type cursor struct {
	key    key   // of the block before
	run    int   // the next token is in this run …
	offset int32 // … at this place
}

// next returns the key of the next block and steps over it. It returns false, and stays, if the runs end inside.
func (c *cursor) next(p Prompt, size int) (k key, ok bool) {
	n := int32(size)
	if c.run < len(p) && c.offset >= n && p[c.run].Len-c.offset >= n && c.key.at < stretch-1 {
		c.key.at++ // the block before lies in this run, too
		c.skip(p, n)
		return c.key, true
	}
	at := *c
	hash := c.key.hash ^ uint64(c.key.at)*pi1
	for n > 0 {
		if at.run == len(p) {
			return key{}, false
		}
		r := p[at.run]
		m := min(n, r.Len-at.offset)
		if m > 0 {
			hash = mix(hash, r.Label, at.offset, m)
		}
		n -= m
		at.skip(p, m)
	}
	at.key = key{hash: max(hash, 1)} // 0 means "cannot be found"
	*c = at
	return c.key, true
}

// on steps over the blocks that follow in the same stretch, `most` of them at most. It returns how many.
func (c *cursor) on(p Prompt, size, most int) int {
	if c.run == len(p) || int(c.offset) < size {
		return 0
	}
	n := min(most, int(uint32(p[c.run].Len-c.offset)/uint32(size)), int(stretch-1-c.key.at))
	if n > 0 {
		c.key.at += int32(n)
		c.skip(p, int32(n*size))
	}
	return n
}

// skip steps over n tokens of the current run.
func (c *cursor) skip(p Prompt, n int32) {
	if c.offset += n; c.offset == p[c.run].Len {
		c.run, c.offset = c.run+1, 0
	}
}

// cursorAt returns the cursor that stands after so many tokens of p, the block before having that key.
func cursorAt(p Prompt, tokens int, k key) cursor {
	c := cursor{key: k}
	for c.run < len(p) && tokens >= int(p[c.run].Len) {
		tokens -= int(p[c.run].Len)
		c.run++
	}
	c.offset = int32(tokens)
	return c
}
