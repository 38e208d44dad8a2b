package hardware

// A LockstepModel prices the steps of data-parallel ranks that share their experts.
type LockstepModel interface {
	// Together prices one step of all ranks, per GPU. Of the ranks only the rows are read and Rows and Group are set. A rank
	// without work runs along, since the others need its experts: its step may be empty, but not all of them.
	Together(ranks []Step) Cost
}

// Together prices ranks that step in lockstep, as vLLM's do: before each step they agree on the largest number of tokens.
// If a CUDA graph covers it, every rank pads to it; the experts see the rows of all ranks; and since every layer ends with
// an exchange, all wait for the slowest:
//
//	t = maxᵣ t(rowsᵣ = pad(maxᵣ tokensᵣ), experts of Σ rows)
//
// Arithmetic, traffic and energy are means over the ranks; a rank that waits draws idle power.
func (r *Roofline) Together(ranks []Step) Cost {
	most, sum := 1, 0
	for i := range ranks {
		most = max(most, ranks[i].Tokens)
		sum += max(ranks[i].Tokens, 1)
	}
	padded := 0
	if r.launches.captured(most) {
		padded = r.launches.pad(most)
		sum = padded * len(ranks)
	}
	var slowest, all Cost
	var device float64
	for i := range ranks {
		s := &ranks[i]
		s.Rows, s.Group = max(padded, s.Tokens, 1), sum
		c := r.Cost(*s)
		all.FLOPs += c.FLOPs
		all.Bytes += c.Bytes
		all.Joules += c.Joules
		device += c.Device.Seconds()
		if c.Device+c.Hop > slowest.Device+slowest.Hop {
			slowest.Device, slowest.Hop, slowest.By = c.Device, c.Hop, c.By
		}
		slowest.Exposed, slowest.Host = max(slowest.Exposed, c.Exposed), max(slowest.Host, c.Host)
	}
	n := float64(len(ranks))
	slowest.FLOPs, slowest.Bytes = all.FLOPs/n, all.Bytes/n
	slowest.Joules = all.Joules/n + r.power.idle*(slowest.Device.Seconds()-device/n)
	return slowest
}

var _ LockstepModel = (*Roofline)(nil)
