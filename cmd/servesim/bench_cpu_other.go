//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package main

import "time"

// clock says what cpuSeconds counts: where the system does not tell the CPU time of a process, the time that passes.
const clock = "wall"

var started = time.Now()

func cpuSeconds() float64 { return time.Since(started).Seconds() }
