package scheduler

// phases counts the members of a cohort by the beat in which they begin a block: a ring of as many places as a block has
// tokens. It is there twice, end to end, so that it can be read on from any place without a turn.
type phases struct {
	twice  []int
	size   int
	begins int // the place of those whose next token begins a block
}

func newPhases(size int) phases { return phases{twice: make([]int, 2*size), size: size} }

// slot returns the place of a member whose last block has so many tokens; one that is full has none.
func (f *phases) slot(tokens int32) int32 {
	i := f.begins - int(tokens)
	if i < 0 {
		i += f.size
	}
	return int32(i)
}

// add counts n more at a place.
func (f *phases) add(slot int32, n int) {
	f.twice[slot] += n
	f.twice[int(slot)+f.size] += n
}

// next returns the blocks that the next beat begins.
func (f *phases) next() int { return f.twice[f.begins] }

// turn moves on by n beats, at most one round.
func (f *phases) turn(n int) {
	if f.begins += n; f.begins >= f.size {
		f.begins -= f.size
	}
}

// foresee fills in the blocks that each of the next beats begins.
func (f *phases) foresee(blocks []int) {
	from := f.begins
	for len(blocks) > 0 {
		blocks = blocks[copy(blocks, f.twice[from:]):]
		from = 0
	}
}

// pass moves on by n beats, and returns the blocks that they begin: in a round every member begins one.
func (f *phases) pass(n, members int) (blocks int) {
	rounds := int(uint32(n) / uint32(f.size))
	rest := n - rounds*f.size
	blocks = rounds * members
	for _, begun := range f.twice[f.begins : f.begins+rest] {
		blocks += begun
	}
	f.turn(rest)
	return blocks
}
