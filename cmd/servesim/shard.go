package main

import (
	"fmt"

	"github.com/servesim/servesim/scenarios/study"
)

// A shardFlag is --shard INDEX/COUNT, or nothing.
type shardFlag struct {
	shard study.Shard
	given bool
}

// String returns INDEX/COUNT; nothing where the flag was not given.
func (s *shardFlag) String() string {
	if !s.given {
		return ""
	}
	return s.shard.String()
}

// Set reads INDEX/COUNT.
func (s *shardFlag) Set(text string) (err error) {
	s.shard, err = study.ParseShard(text)
	s.given = true
	return err
}

// Type names the value in the help.
func (s *shardFlag) Type() string { return "INDEX/COUNT" }

// find returns the shard that the flag names, else the one that the cluster wants to be played; of the latter it tells,
// since nobody typed it.
func (s *shardFlag) find(e *env) (study.Shard, error) {
	if s.given || e.getenv == nil {
		return s.shard, nil
	}
	shard, source, err := study.FromEnvironment(e.getenv)
	if err != nil {
		return shard, usageError{err}
	}
	if source != "" {
		fmt.Fprintf(e.stderr, "servesim: shard %s, as %s says\n", shard, source)
	}
	return shard, nil
}
