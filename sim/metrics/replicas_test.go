package metrics

import (
	"testing"

	"github.com/servesim/servesim/sim"
)

const hour = sim.Time(3600e9)

func TestAnEngineThatStartsLateAndStopsEarlyCostsWhatItWasThere(t *testing.T) {
	r := New(Config{Several: true, Warmup: hour})
	for _, e := range []struct {
		from, to sim.Time
		gpus     int
	}{{0, sim.Never, 1}, {2 * hour, 3 * hour, 2}, {3 * hour, sim.Never, 2}, {0, hour / 2, 4}} {
		r.Watch(Engine{GPUs: e.gpus, Up: func() (sim.Time, sim.Time) { return e.from, e.to }, IdleWatts: 100})
	}
	rep := r.Report(4 * hour)
	want := Fleet{
		ReplicaSeconds: (3 + 1 + 1) * 3600, GPUHours: 3 + 2 + 2, MeanReplicas: 5. / 3,
		PeakReplicas: 2, Started: 2, Stopped: 2,
	}
	if *rep.Fleet != want {
		t.Errorf("got %+v, want %+v", *rep.Fleet, want)
	}
	if rep.GPU.Count != 5 { // the warm-up's four and one
		t.Errorf("%d GPUs at once, want 5", rep.GPU.Count)
	}
	if kWh := rep.GPU.EnergyJ / 3.6e6; kWh < 0.6999 || kWh > 0.7001 {
		t.Errorf("seven idle GPU-hours of 100 W take %v kWh", kWh)
	}
	for i, hours := range []float64{3, 1, 1, 0} {
		if rep.Replicas[i].UpS != hours*3600 {
			t.Errorf("replica %d was there for %v s, want %v h", i, rep.Replicas[i].UpS, hours)
		}
	}
}
