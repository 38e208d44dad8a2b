package engine

import (
	"time"

	"github.com/servesim/servesim/sim"
)

// Frontend is the part of a request's path that is not the engine: HTTP, tokenisation and hand-over on the way in,
// detokenisation and streaming on the way out. Its API processes are servers with queues: on the way in each works on
// one prompt after the other, on the way out on one chunk after the other. The two directions do not wait for each
// other, since vLLM tokenises in a thread beside the loop that writes. Tokens that wait are not merged into one chunk,
// which a real process does once it is far behind: its answers come in lumps then, but not ever later.
type Frontend struct {
	Servers    int           // API processes; 0 means 1
	PerRequest time.Duration // of an API process for each request: HTTP, chat template
	PerToken   time.Duration // of an API process for each token of the prompt: tokenisation
	Ingress    time.Duration // from there to the scheduler's queue, and all else that keeps nobody else waiting
	PerChunk   time.Duration // of an API process for each chunk that it detokenises and writes
	// Interval is how many tokens make a chunk; the first token and the last are sent in any case. 0 means 1; more needs
	// plans that name everybody.
	Interval int
}

// A desk is the API processes at work. Answers are spread evenly over them, so that all get through the chunks of a step
// in the same time, and one number stands for the backlog of each.
type desk struct {
	Frontend
	tokenisers []sim.Time    // when each process is done with the prompts that it was given
	share      time.Duration // of PerChunk: what a chunk costs when all processes write at once
	written    sim.Time      // when they are done with all chunks that they were given
	behind     time.Duration // the longest that the chunks of a step have waited for their turn
}

func newDesk(f Frontend) desk {
	f.Servers, f.Interval = max(f.Servers, 1), max(f.Interval, 1)
	return desk{Frontend: f, tokenisers: make([]sim.Time, f.Servers), share: f.PerChunk / time.Duration(f.Servers)}
}

// tokenise gives a prompt to the process that is free first and returns when it is done with it.
func (d *desk) tokenise(now sim.Time, tokens int32) sim.Time {
	first := 0
	for i, free := range d.tokenisers {
		if free < d.tokenisers[first] {
			first = i
		}
	}
	done := max(d.tokenisers[first], now).Add(d.PerRequest + time.Duration(tokens)*d.PerToken)
	d.tokenisers[first] = done
	return done
}

// turn returns when the processes turn to the chunks of a step that ends at end: at once, or when they are done with
// those of the steps before.
func (d *desk) turn(end sim.Time) sim.Time {
	if d.written <= end {
		return end
	}
	d.behind = max(d.behind, d.written.Sub(end))
	return d.written
}

// write notes that a step, to which the processes turned at instant turn, gave them so many chunks.
func (d *desk) write(turn sim.Time, chunks int) {
	d.written = turn.Add(time.Duration(chunks) * d.share)
}

// lag returns by how much later than their turn the chunks of an answer reach the client that joined a batch of so many
// sequences: it stands last in the batch, and keeps its distance.
func (d *desk) lag(seqs int) time.Duration {
	return time.Duration((seqs+d.Interval-1)/d.Interval) * d.share
}

// due reports whether the tokens that are held back for an answer make a chunk.
func (d *desk) due(l *life) bool {
	return l.held >= int32(d.Interval) || l.Emitted == 0 || l.Emitted+l.held == l.want
}
