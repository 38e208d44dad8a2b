package workload

import (
	"strconv"

	"github.com/servesim/servesim/sim"
)

// startClosed starts the stories of the clients of a closed loop; never more of them than there are requests.
func startClosed(c *client, closed Closed, requests int) {
	n := closed.Clients
	if requests > 0 {
		n = min(n, requests)
	}
	for i := range n {
		c.kernel.Go("client "+strconv.Itoa(i), func(p *sim.Process) { c.loop(p, int32(i), closed) })
	}
}

// loop is the life of client number i: send, wait for the answer, think, and send again.
func (c *client) loop(p *sim.Process, i int32, closed Closed) {
	for {
		if !c.slots.take() {
			p.Wait(c.slots.wait)
		}
		if p.Now() > c.until {
			c.slots.give()
			return
		}
		r := c.draw()
		if r == nil {
			c.slots.give()
			return
		}
		r.Client = i
		if r.talk != nil {
			r.talk.first.Client = i
		}
		c.discuss(p, r)
		if closed.Think > 0 {
			p.Sleep(closed.Think)
		}
	}
}
