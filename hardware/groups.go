package hardware

// groupSize returns how many layers share a block: all of them in a model of one kind. In a hybrid, where layers that see
// everything and layers that see a window keep different blocks, groups have the size of the rarer kind, or of the more
// frequent one if that is less than half as large again; the last group of a kind is padded.
func (s shard) groupSize() int {
	few, many := min(s.full, s.sliding), max(s.full, s.sliding)
	if few == 0 || 2*many < 3*few {
		return many
	}
	return few
}

// groups lists the groups of the stage, those with full attention first.
func (s shard) groups(m Model) []KVGroup {
	var groups []KVGroup
	size := s.groupSize()
	for left := s.full; left > 0; left -= size {
		groups = append(groups, KVGroup{Layers: min(left, size)})
	}
	for left := s.sliding; left > 0; left -= size {
		groups = append(groups, KVGroup{Window: m.Window, Layers: min(left, size)})
	}
	return groups
}

// blocksFor returns how many blocks one sequence of so many tokens needs at worst, over all groups. A sliding group
// gives back what its window has left behind, but a chunk of a full step needs its blocks before that.
func (m Memory) blocksFor(d Deployment, tokens int) int {
	blocks := 0
	for _, g := range m.Groups {
		if g.Window == 0 {
			blocks += ceilDiv(tokens, d.BlockSize)
			continue
		}
		held := min(g.Window-1+d.MaxNumBatchedTokens, tokens)
		blocks += min(ceilDiv(held, d.BlockSize)+1, ceilDiv(tokens, d.BlockSize))
	}
	return blocks
}
