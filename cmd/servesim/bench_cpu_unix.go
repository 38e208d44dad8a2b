//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package main

import "syscall"

// clock says what cpuSeconds counts.
const clock = "cpu"

// cpuSeconds returns the CPU time that this process has used, on all cores, in the kernel too.
func cpuSeconds() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic("getrusage of this process: " + err.Error()) // it has no way to fail
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
