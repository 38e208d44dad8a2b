package main

import (
	"fmt"
	"time"

	"github.com/schollz/progressbar/v3"
)

// A progress is a bar on standard error with an estimate of the time left. It appears only where somebody looks (a
// terminal) and only once the run has taken longer than a glance.
type progress struct {
	env         *env
	begun       time.Time
	bar         *progressbar.ProgressBar
	what        string // is counted
	done, total int
}

// glance is how long a run may take before it deserves a bar.
const glance = 500 * time.Millisecond

func newProgress(e *env) *progress { return &progress{env: e, begun: time.Now(), what: "requests"} }

// show is called by the run now and then with the requests that have ended, and how many there will be: 0 or less if
// nobody knows.
func (p *progress) show(done, total int) {
	p.done, p.total = done, total
	if p.bar == nil {
		if !p.env.terminal || time.Since(p.begun) < glance {
			return
		}
		most := int64(total)
		if total <= 0 {
			most = -1
		}
		p.bar = progressbar.NewOptions64(most,
			progressbar.OptionSetWriter(p.env.stderr),
			progressbar.OptionSetDescription(p.what),
			progressbar.OptionShowCount(),
			progressbar.OptionSetPredictTime(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	_ = p.bar.Set(done) // a bar that cannot be drawn must not stop the run
}

// close takes the bar away.
func (p *progress) close() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

// so says how far it came.
func (p *progress) so() string {
	if p.total > 0 {
		return fmt.Sprintf("%d of %d requests had ended; nothing was reported", p.done, p.total)
	}
	return fmt.Sprintf("%d requests had ended; nothing was reported", p.done)
}
