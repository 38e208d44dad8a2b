// Package scenarios reads, checks, builds and runs experiments. A scenario is a YAML file: a model, the hardware it runs
// on, the settings of the engine, and a load. Nothing in it is guessed at and nothing is ignored in silence: an unknown
// key is an error, a setting that does nothing under the chosen scheduler is a warning, and every mistake is shown at
// once with its place.
//
// The path of a scenario through this package:
//
//	Open or Parse → Document — Set → Scenario → Build → Experiment → Run → Result
//
// An experiment is one engine or a cluster of them. Engines that differ from the scenario's own, the groups and the pools
// for prefill and decode, are its parts: each is the scenario with a few settings changed (parts.go).
//
// One table of fields (fields.go) is the source for reading, checking, writing the resolved configuration and the JSON
// schema. The embedded *.yaml files are experiments to start from.
package scenarios
