package hardware

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// DoesNotFitError says that the weights of a model, or the activations of its largest step, leave no room for a KV cache. Sizes are
// bytes per GPU.
type DoesNotFitError struct {
	Model, Device string
	Weights       Dtype
	Utilization   float64

	Needed      int64    // weights
	Activations int64    // of the largest step; when these exceed Needed, they are what Error blames
	Room        int64    // what the device has for weights and for a first block of cache; may be negative
	Missing     int64    // how much more it would have to have
	TP          int      // the smallest tensor-parallel size on this device that fits, cache for one sequence included; 0: none
	Devices     []string // on which it would fit as it is, the same vendor's first, then by memory

	Enough              float64 // the smallest gpu_memory_utilization above the one given, at most 0.95, that fits; 0: none
	MaxNumBatchedTokens int     // of the largest step
	MaxNumSeqs          int     // whose sampling makes Activations, more than the layers do; 0: it does not
	FittingTokens       int     // the largest max_num_batched_tokens that fits, not below max_num_seqs; 0: none
	FittingSeqs         int     // the largest max_num_seqs that fits, where fewer do; 0: none
}

// Error names the largest consumer, the missing memory and the remedies.
func (e *DoesNotFitError) Error() string {
	var b strings.Builder
	if e.Activations > e.Needed {
		e.blameActivations(&b)
	} else {
		e.blameWeights(&b)
	}
	return b.String()
}

func (e *DoesNotFitError) adviseUtilization(b *strings.Builder) {
	if e.Enough > 0 {
		fmt.Fprintf(b, "; raise gpu_memory_utilization to at least %g", e.Enough)
	}
}

func (e *DoesNotFitError) blameActivations(b *strings.Builder) {
	cause := fmt.Sprintf("a step of max_num_batched_tokens %d needs", e.MaxNumBatchedTokens)
	if e.MaxNumSeqs > 0 {
		cause = fmt.Sprintf("sampling max_num_seqs %d needs", e.MaxNumSeqs)
	}
	fmt.Fprintf(b, "%s on %s: %s %.1f GiB of activations per GPU, besides %.1f GiB of weights, at gpu_memory_utilization %g: %.1f GiB missing",
		e.Model, e.Device, cause, gib(e.Activations), gib(e.Needed), e.Utilization, gib(e.Missing))
	switch {
	case e.FittingTokens > 0:
		fmt.Fprintf(b, "; lower max_num_batched_tokens to at most %d", e.FittingTokens)
	case e.FittingSeqs > 0:
		fmt.Fprintf(b, "; lower max_num_seqs to at most %d", e.FittingSeqs)
	default:
		b.WriteString("; lower max_num_batched_tokens and max_num_seqs")
	}
	e.adviseUtilization(b)
}

func (e *DoesNotFitError) blameWeights(b *strings.Builder) {
	fmt.Fprintf(b, "%s in %s needs %.1f GiB of weights per GPU; %s has %.1f GiB for them at gpu_memory_utilization %g: %.1f GiB missing",
		e.Model, e.Weights, gib(e.Needed), e.Device, gib(max(e.Room, 0)), e.Utilization, gib(e.Missing))
	if e.FittingSeqs > 0 {
		fmt.Fprintf(b, "; lower max_num_seqs to at most %d", e.FittingSeqs)
	}
	e.adviseUtilization(b)
	switch {
	case e.TP > 0 && len(e.Devices) > 0:
		fmt.Fprintf(b, "; the smallest tensor_parallel_size that fits is %d (or use --gpu %s)", e.TP, e.Devices[0])
	case e.TP > 0:
		fmt.Fprintf(b, "; the smallest tensor_parallel_size that fits is %d", e.TP)
	case len(e.Devices) > 0:
		fmt.Fprintf(b, "; no tensor_parallel_size of this GPU fits; use --gpu %s", strings.Join(e.Devices, " or "))
	case e.Enough == 0:
		b.WriteString("; no known GPU holds it with any tensor_parallel_size tried; use narrower weights or pipeline parallelism")
	}
}

// ContextTooLongError says that the KV cache cannot hold one sequence of max_model_len. Sizes are bytes per GPU.
type ContextTooLongError struct {
	Model             string
	MaxModelLen       int
	Needed, Available int64
	Longest           int // tokens of the longest sequence that the cache holds
}

// Error gives the largest max_model_len that works.
func (e *ContextTooLongError) Error() string {
	return fmt.Sprintf("one sequence of max_model_len %d of %s needs %.2f GiB of KV cache per GPU, and %.2f GiB are left; "+
		"use a max_model_len of at most %d, a higher gpu_memory_utilization, or more GPUs",
		e.MaxModelLen, e.Model, gib(e.Needed), gib(e.Available), e.Longest)
}

func gib(bytes int64) float64 { return float64(bytes) / (1 << 30) }

// largestTP bounds the search for a tensor-parallel size that fits.
const largestTP = 64

// doesNotFit explains a plan without room.
func doesNotFit(d Deployment, o MemoryOptions, m Memory) error {
	room := m.Requested - m.Activations - m.NonTorch
	if o.GraphsSubtracted {
		room -= m.Graphs
	}
	e := &DoesNotFitError{
		Model: d.Model.Name, Device: d.Device.Name, Weights: d.Weights, Utilization: o.Utilization,
		Needed: m.Weights + m.Drafter, Activations: m.Activations, Room: room, Missing: m.Weights + m.Drafter - room,
		Enough: d.enough(o), MaxNumBatchedTokens: d.MaxNumBatchedTokens, FittingTokens: d.fittingTokens(o), FittingSeqs: d.fittingSeqs(o),
	}
	if m.Activations > newShard(d).layerBytes(d) {
		e.MaxNumSeqs = d.MaxNumSeqs
	}
	if e.Missing <= 0 { // the weights fit, but not a block beside them
		e.Missing += m.BlockBytes
	}
	for tp := 1; tp <= largestTP; tp *= 2 {
		larger := d
		larger.TP = tp
		if tp > d.TP && larger.fits(o) {
			e.TP = tp
			break
		}
	}
	e.Devices = devicesThatFit(d, o)
	return e
}

// enough returns the smallest gpu_memory_utilization, in hundredths up to 0.95, that fits where o's does not; 0 if none does.
func (d Deployment) enough(o MemoryOptions) float64 {
	for percent := int(o.Utilization*100) + 1; percent <= 95; percent++ {
		o.Utilization = float64(percent) / 100
		if d.fits(o) {
			return o.Utilization
		}
	}
	return 0
}

// fittingTokens returns the largest max_num_batched_tokens that fits where d's does not; 0 if none does.
func (d Deployment) fittingTokens(o MemoryOptions) int {
	return d.largestFitting(&d.MaxNumBatchedTokens, max(d.MaxNumSeqs, 1), o)
}

// fittingSeqs returns the largest max_num_seqs that fits where d's does not; 0 if none does.
func (d Deployment) fittingSeqs(o MemoryOptions) int {
	return d.largestFitting(&d.MaxNumSeqs, 1, o)
}

// largestFitting changes a limit of d. It returns the largest value, from low to the limit as it is, with which d fits, where what
// fits with one value fits with any smaller; 0 if none does.
func (d *Deployment) largestFitting(limit *int, low int, o MemoryOptions) int {
	n := sort.Search(max(*limit-low+1, 0), func(i int) bool {
		*limit = low + i
		return !d.fits(o)
	})
	if n == 0 {
		return 0
	}
	return low + n - 1
}

// devicesThatFit lists the devices that d would fit on, those of its vendor first, then by memory.
func devicesThatFit(d Deployment, o MemoryOptions) []string {
	foreign := func(a Device) int {
		if a.Vendor == d.Device.Vendor {
			return 0
		}
		return 1
	}
	known := Devices()
	slices.SortStableFunc(known, func(a, b Device) int {
		return cmp.Or(cmp.Compare(foreign(a), foreign(b)), cmp.Compare(a.Memory, b.Memory))
	})
	var names []string
	for _, a := range known {
		other := d
		other.Device = a
		if a.Status != DatasheetOnly && other.fits(o) {
			names = append(names, a.Name)
		}
	}
	return names
}

// fits reports whether d has room for its weights and for one sequence of max_model_len.
func (d Deployment) fits(o MemoryOptions) bool {
	if d.Validate() != nil {
		return false
	}
	m := divide(d, o)
	return m.Blocks >= 1 && m.holdsOneSequence(d) == nil
}
