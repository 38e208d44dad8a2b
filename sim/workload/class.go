package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"gonum.org/v1/gonum/stat/distuv"
)

// Class is a kind of request, such as interactive or batch.
type Class struct {
	Name           string
	Share          float64 // weight among the classes; they need not sum to one
	Priority       int32   // lower is more important
	Prompt, Output Length  // its own laws; no law: the workload's
}

func (s *Spec) checkClasses(c *faults) {
	seen := make(map[string]bool, len(s.Classes))
	for i := range s.Classes {
		class := &s.Classes[i]
		if !positive(class.Share) {
			c.add("classes", "the share of class %q must be a positive number, got %v", class.Name, class.Share)
		}
		if seen[class.Name] {
			c.add("classes", "class %q is there twice: give each its own name", class.Name)
		}
		seen[class.Name] = true
		class.checkLengths(c, fmt.Sprintf("classes[%d]", i))
		switch {
		case class.Prompt.Law == nil && class.Output.Law == nil:
		case s.Trace != nil:
			c.add("classes", "class %q has lengths of its own, which do not go with a trace: it has the lengths", class.Name)
		case class.Prompt.Law != nil && s.Prefix.Distinct > 0:
			c.add("classes", "class %q has prompts of its own, which do not go with prefix.distinct: there all draw from one set", class.Name)
		}
	}
}

func (k *Class) checkLengths(c *faults, field string) {
	if k.Prompt.Law != nil {
		k.Prompt.check(c, field+".prompt")
	}
	if k.Output.Law != nil {
		k.Output.check(c, field+".output")
	}
}

// notes says where limits have moved the mean of class number i's lengths.
func (k *Class) notes(i int) (notes []string) {
	if n := k.Prompt.Note(); n != "" {
		notes = append(notes, fmt.Sprintf("workload.classes[%d].prompt: %s", i, n))
	}
	if n := k.Output.Note(); n != "" {
		notes = append(notes, fmt.Sprintf("workload.classes[%d].output: %s", i, n))
	}
	return notes
}

// mostClients bounds the clients that are told apart.
const mostClients = 1 << 20

func (s *Spec) checkClients(c *faults) {
	if len(s.Clients) > mostClients {
		c.add("clients", "must be at most %d, got %d", mostClients, len(s.Clients))
	}
	for i, share := range s.Clients {
		if !positive(share) {
			c.add("clients", "the share of client %d must be a positive number, got %v", i, share)
			break
		}
	}
	if _, closed := s.Arrivals.(Closed); closed && s.Trace == nil && len(s.Clients) > 1 {
		c.add("clients", "does not go with closed arrivals, which have clients of their own")
	}
	if s.Trace != nil && len(s.Clients) > 1 {
		c.add("clients", "does not go with a trace, which names its clients itself")
	}
}

// Zipf returns the shares of n clients of which the k-th sends 1/k^skew as much as the first: 0 makes them equal.
func Zipf(n int, skew float64) []float64 {
	shares := make([]float64, n)
	for k := range shares {
		shares[k] = math.Pow(float64(k+1), -skew)
	}
	return shares
}

// lengths are the laws of one class.
type lengths struct{ prompt, output *sampler }

// newLengths returns the laws by class. Classes without laws of their own draw from those of the workload together; a law
// of its own has a stream of its own, so that it shifts no other draw.
func newLengths(s *Spec, stream func(string) rand.Source) []*lengths {
	draws := func(l Length, name string) *sampler {
		law := l.sampler(stream(name))
		return &law
	}
	all := &lengths{draws(s.Prompt, "prompt"), draws(s.Output, "output")}
	if len(s.Classes) < 1 {
		return []*lengths{all}
	}
	laws := make([]*lengths, len(s.Classes))
	for i := range laws {
		one, class := *all, &s.Classes[i]
		if class.Prompt.Law != nil {
			one.prompt = draws(class.Prompt, "prompt of "+class.Name)
		}
		if class.Output.Law != nil {
			one.output = draws(class.Output, "output of "+class.Name)
		}
		laws[i] = &one
	}
	return laws
}

// A choice picks one of several things by their shares.
type choice struct {
	upTo []float64 // cumulated shares
	law  distuv.Uniform
}

func newChoice(shares []float64, src rand.Source) choice {
	sum := 0.0
	upTo := make([]float64, len(shares))
	for i, s := range shares {
		sum += s
		upTo[i] = sum
	}
	return choice{upTo, distuv.Uniform{Min: 0, Max: sum, Src: src}}
}

func classChoice(classes []Class, src rand.Source) choice {
	shares := make([]float64, len(classes))
	for i, c := range classes {
		shares[i] = c.Share
	}
	return newChoice(shares, src)
}

// draw returns an index; with one thing or none it is 0, and nothing is drawn.
func (c *choice) draw() int32 {
	if len(c.upTo) <= 1 {
		return 0
	}
	return c.pick()
}

// pick is draw where there is a choice.
func (c *choice) pick() int32 {
	u := c.law.Rand()
	return int32(sort.Search(len(c.upTo)-1, func(i int) bool { return u < c.upTo[i] }))
}
