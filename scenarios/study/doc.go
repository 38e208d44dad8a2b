// Package study plays many simulations: on all cores of a machine, and on many machines.
//
// A study is a list of runs. [Each] and [Play] work it off; outcomes come by their index in the list, and nothing in
// them depends on how many run at once, in which order they end, or what runs beside them. Experiments never change, so
// that all runs of one configuration use one, with its cost model and its trace.
//
// Where one machine ends, each of several machines plays a [Shard] of the same list and writes its [Lines]; [Merge] puts
// them together to the very bytes that one machine would have written.
package study
