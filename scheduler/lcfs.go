package scheduler

// LCFS returns last come, first served. Under a load that the engine cannot take, the newest are served in time and the
// oldest, whose clients have lost patience, not at all: fewer answers come too late than if all come late.
//
// Source: M. Harchol-Balter, "Performance Modeling and Design of Computer Systems", Cambridge 2013, chapter 29; that mean
// waiting times are those of FCFS, and their variance larger, is a theorem there.
func LCFS() Order { return lcfs{} }

type lcfs struct{}

// Before reports whether a is younger than b.
func (lcfs) Before(a, b *Seq) bool { return older(b, a) }
