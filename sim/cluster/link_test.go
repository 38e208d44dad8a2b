package cluster

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/servesim/servesim/sim"
)

// thousand is the KV of 1,000 tokens of Llama-3.1-8B in 16 bits: 63 blocks of 16 tokens, 2 × 32 layers × 8 heads × 128 × 2 B each.
const thousand = 1008 * 131072

// carry sends the transfers, each at its time, and returns when each arrived.
func carry(t *testing.T, s Sharing, ports []float64, sends []send) []sim.Time {
	t.Helper()
	k := sim.New(1)
	f := NewFabric(k, s, 5*time.Microsecond)
	for _, b := range ports {
		f.Attach(b)
	}
	arrived := make([]sim.Time, len(sends))
	for i, x := range sends {
		k.At(sim.Time(x.at), sim.Arrive, func() {
			f.Send(x.from, x.to, x.bytes, func() { arrived[i] = k.Now() })
		})
	}
	if err := k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	return arrived
}

type send struct {
	at       time.Duration
	from, to int
	bytes    int64
}

func TestTransfersOnOneLinkShareItOrWait(t *testing.T) {
	const one = 2642412 // ns: 132,120,576 B at 50 GB/s, rounded up; latency comes on top
	const latency = 5000
	pair := []float64{50e9, 50e9}
	four := []send{{0, 0, 1, thousand}, {0, 0, 1, thousand}, {0, 0, 1, thousand}, {0, 0, 1, thousand}}
	for _, c := range []struct {
		name    string
		sharing Sharing
		ports   []float64
		sends   []send
		want    []sim.Time
	}{
		{"one alone", Fair, pair, four[:1], []sim.Time{one + latency}},
		{"one alone, first in first out", FIFO, pair, four[:1], []sim.Time{one + latency}},
		{"four at once take four times as long", Fair, pair, four, []sim.Time{10569647 + latency, 10569647 + latency, 10569647 + latency, 10569647 + latency}},
		{"four in a row", FIFO, pair, four, []sim.Time{one + latency, 2*one + latency, 3*one + latency, 4*one + latency}},
		{"one that comes half-way slows the other", Fair, []float64{1e9, 1e9}, []send{{0, 0, 1, 1000}, {500, 0, 1, 1000}}, []sim.Time{1500 + latency, 2000 + latency}},
		{"a narrow sender leaves a wide receiver room", Fair, []float64{1e9, 1e9, 2e9}, []send{{0, 0, 2, 1000}, {0, 1, 2, 1000}}, []sim.Time{1000 + latency, 1000 + latency}},
		{"two senders share one receiver", Fair, []float64{1e9, 1e9, 1e9}, []send{{0, 0, 2, 1000}, {0, 1, 2, 1000}}, []sim.Time{2000 + latency, 2000 + latency}},
		{"other ports do not matter", Fair, []float64{1e9, 1e9, 1e9, 1e9}, []send{{0, 0, 2, 1000}, {0, 1, 3, 1000}}, []sim.Time{1000 + latency, 1000 + latency}},
		{"first in first out waits for both ports", FIFO, []float64{1e9, 1e9, 1e9}, []send{{0, 0, 2, 1000}, {0, 1, 2, 1000}}, []sim.Time{1000 + latency, 2000 + latency}},
	} {
		if got := carry(t, c.sharing, c.ports, c.sends); !slices.Equal(got, c.want) {
			t.Errorf("%s: arrived at %v, want %v", c.name, got, c.want)
		}
	}
}

func TestRatesAtAPortNeverExceedIt(t *testing.T) {
	k := sim.New(7)
	f := NewFabric(k, Fair, 0)
	for range 5 {
		f.Attach(1e9)
	}
	draw := sim.New(3).Rand("test")
	sent, arrived := 0, 0
	for i := range 400 {
		k.At(sim.Time(i*300), sim.Arrive, func() {
			from := int(draw.Uint64() % 2)
			sent++
			f.Send(from, 2+int(draw.Uint64()%3), int64(100+draw.Uint64()%2000), func() { arrived++ })
			for p := range f.ports {
				out, in := 0.0, 0.0
				for _, x := range f.active {
					if x.from == p {
						out += x.rate
					}
					if x.to == p {
						in += x.rate
					}
				}
				if limit := f.ports[p].bandwidth * (1 + 1e-12); out > limit || in > limit {
					t.Fatalf("port %d carries %g out and %g in, it is %g wide", p, out, in, f.ports[p].bandwidth)
				}
			}
		})
	}
	if err := k.Run(context.Background(), sim.Never); err != nil {
		t.Fatal(err)
	}
	if arrived != sent || len(f.active) != 0 {
		t.Errorf("%d of %d transfers arrived, %d are still under way", arrived, sent, len(f.active))
	}
}
