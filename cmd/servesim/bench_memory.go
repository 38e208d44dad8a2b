package main

import (
	"runtime/debug"
	"runtime/metrics"
	"time"
)

// A memoryWatch looks now and then at how much memory the process holds. The system's own record, the peak resident
// set, cannot be set back between two measurements.
type memoryWatch struct {
	ask, answer chan struct{}
	peak        uint64
	samples     [2]metrics.Sample
}

// look is the time between two looks: short against a garbage collection cycle of anything large.
const look = 2 * time.Millisecond

// watchMemory gives unused memory back and begins to watch.
func watchMemory() *memoryWatch {
	debug.FreeOSMemory()
	m := &memoryWatch{ask: make(chan struct{}), answer: make(chan struct{})}
	m.samples[0].Name = "/memory/classes/total:bytes"
	m.samples[1].Name = "/memory/classes/heap/released:bytes"
	go m.watch()
	return m
}

func (m *memoryWatch) watch() {
	defer close(m.answer)
	tick := time.NewTicker(look)
	defer tick.Stop()
	for {
		metrics.Read(m.samples[:])
		m.peak = max(m.peak, m.samples[0].Value.Uint64()-m.samples[1].Value.Uint64())
		select {
		case <-tick.C:
		case <-m.ask:
			return
		}
	}
}

// stop ends the watch and returns the most that was seen, in bytes.
func (m *memoryWatch) stop() uint64 {
	close(m.ask)
	<-m.answer
	return m.peak
}
