package workload

import (
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Longest is the largest number of tokens that a prompt, a prefix or an answer may have: beyond the context of any
// model, and small enough that the sum of the three is an int32.
const Longest = 1 << 24

// Length is how many tokens something has: a law, and a cap on its draws. Draws are whole numbers, at least 1.
type Length struct {
	Law Law
	Cap int // longer draws are cut to it; 0: Longest
}

// Law is a distribution of lengths in tokens: [Fixed], [Around], [Uniform], [Normal] or [LogNormal].
type Law interface {
	check(c *faults, field string)
	sampler(src rand.Source) sampler
	fmt.Stringer
	// mean is that of the law; clamped is that of its draws cut to lo … hi.
	mean() float64
	clamped(lo, hi float64) float64
}

// Mean returns the mean of the draws, cut to 1 … Cap.
func (l Length) Mean() float64 { return l.Law.clamped(1, l.limit()) }

// Note states how far the mean of the draws lies from the law's own mean because they are cut to 1 … Cap; it is empty
// if that is less than half a percent.
func (l Length) Note() string {
	if l.Law == nil {
		return ""
	}
	want, got := l.Law.mean(), l.Mean()
	if math.Abs(got-want) <= 0.005*want {
		return ""
	}
	return fmt.Sprintf("%v: draws are cut to between 1 and %.0f tokens, which moves their mean from %.1f to %.1f",
		l.Law, l.limit(), want, got)
}

func (l Length) limit() float64 {
	if l.Cap == 0 {
		return Longest
	}
	return float64(l.Cap)
}

func (l Length) check(c *faults, field string) {
	if l.Law == nil {
		c.add(field, "has no law: give it one, such as a fixed length")
		return
	}
	if l.Cap < 0 || l.Cap > Longest {
		c.add(field+".cap", "must lie between 1 and %d tokens, got %d", Longest, l.Cap)
	}
	l.Law.check(c, field)
}

func (l Length) sampler(src rand.Source) sampler {
	s := l.Law.sampler(src)
	s.hi = min(s.hi, l.limit())
	s.lo = min(s.lo, s.hi)
	return s
}

// A variate is what distuv's distributions are to this package.
type variate interface{ Rand() float64 }

// constant is the variate that does not vary.
type constant float64

func (c constant) Rand() float64 { return float64(c) }

// ahead is how many draws are made at a time. A law has a stream of its own, so nobody can tell when they are made; but
// one after the other, they cost a fraction of what they do in between everything else.
const ahead = 64

// A sampler draws whole numbers between lo and hi.
type sampler struct {
	law    variate
	lo, hi float64
	given  uint
	drawn  [ahead]int32
}

func (s *sampler) draw() int32 {
	i := s.given % ahead
	if i == 0 {
		s.refill()
	}
	s.given++
	return s.drawn[i]
}

// refill makes the next draws.
func (s *sampler) refill() {
	if law, ok := s.law.(distuv.Uniform); ok { // most lengths are; it spares them the interface
		for i := range s.drawn {
			s.drawn[i] = s.whole(law.Rand())
		}
		return
	}
	for i := range s.drawn {
		s.drawn[i] = s.whole(s.law.Rand())
	}
}

// whole rounds a draw of the law, and cuts it.
func (s *sampler) whole(x float64) int32 {
	switch x += 0.5; { // draws are positive where they count, so cutting rounds
	case x < s.lo:
		return int32(s.lo)
	case x < s.hi:
		return int32(x)
	}
	return int32(s.hi)
}

// Fixed is one length for all.
type Fixed struct{ Tokens int }

func (f Fixed) String() string { return fmt.Sprintf("fixed %d", f.Tokens) }

func (f Fixed) mean() float64 { return float64(f.Tokens) }

func (f Fixed) clamped(lo, hi float64) float64 { return min(max(f.mean(), lo), hi) }

func (f Fixed) check(c *faults, field string) { checkTokens(c, field+".mean", f.Tokens) }

func (f Fixed) sampler(rand.Source) sampler {
	return sampler{law: constant(f.Tokens), lo: 1, hi: Longest}
}

// Uniform has all whole numbers from Min to Max, equally likely.
type Uniform struct{ Min, Max int }

func (u Uniform) String() string { return fmt.Sprintf("uniform from %d to %d", u.Min, u.Max) }

func (u Uniform) mean() float64 { return (float64(u.Min) + float64(u.Max)) / 2 }

func (u Uniform) clamped(lo, hi float64) float64 {
	a, b := float64(u.Min), float64(u.Max)
	l, h := min(max(a, lo), b), max(min(b, hi), a) // what lies between them stays as it is
	within := max(h-l+1, 0) * (l + h) / 2
	return (within + (l-a)*lo + (b-h)*hi) / (b - a + 1)
}

func (u Uniform) check(c *faults, field string) {
	checkTokens(c, field+".min", u.Min)
	checkTokens(c, field+".max", u.Max)
	if u.Max < u.Min {
		c.add(field+".max", "must be at least min, %d, got %d", u.Min, u.Max)
	}
}

// sampler: rounding a draw from [Min−½, Max+½) gives each whole number the same chance.
func (u Uniform) sampler(src rand.Source) sampler {
	lo, hi := float64(u.Min), float64(u.Max)
	return sampler{law: distuv.Uniform{Min: lo - 0.5, Max: hi + 0.5, Src: src}, lo: lo, hi: hi}
}

// Around is the length law of vllm bench serve's random data set: uniform on [⌊L(1−r)⌋, ⌈L(1+r)⌉], but at least
// 1, where L is Tokens and r is Ratio, --random-range-ratio.
type Around struct {
	Tokens int
	Ratio  float64 // 0 ≤ Ratio < 1
}

func (a Around) String() string {
	return fmt.Sprintf("uniform within a ratio of %v of %d", a.Ratio, a.Tokens)
}

func (a Around) mean() float64 { return a.span().mean() }

func (a Around) clamped(lo, hi float64) float64 { return a.span().clamped(lo, hi) }

func (a Around) span() Uniform {
	l := float64(a.Tokens)
	return Uniform{max(1, int(math.Floor(l*(1-a.Ratio)))), int(math.Ceil(l * (1 + a.Ratio)))}
}

func (a Around) check(c *faults, field string) {
	checkTokens(c, field+".mean", a.Tokens)
	if !(a.Ratio >= 0 && a.Ratio < 1) {
		c.add(field+".range_ratio", "must be at least 0 and below 1, got %v", a.Ratio)
	}
}

func (a Around) sampler(src rand.Source) sampler {
	if a.Ratio == 0 {
		return Fixed{a.Tokens}.sampler(src)
	}
	return a.span().sampler(src)
}

func checkTokens(c *faults, field string, n int) {
	if n < 1 || n > Longest {
		c.add(field, "must lie between 1 and %d tokens, got %d", Longest, n)
	}
}
