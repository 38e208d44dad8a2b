package engine

import (
	"math"
	"math/rand/v2"

	"github.com/servesim/servesim/sim/workload"
)

// Oracle predicts the true number of output tokens. No server knows it: what an order gains by it is the most that any
// predictor could bring.
func Oracle(r *workload.Request) int32 {
	if r.MaxTokens > 0 {
		return min(r.Output, r.MaxTokens)
	}
	return r.Output
}

// Noisy returns a predictor whose guesses are the true number times e^(σ·z), z from the normal law: half of them are too
// short, half too long, and two thirds lie within a factor of e^σ. A request's error depends on its number alone, and so is
// the same under every policy. source gives one number, the seed.
func Noisy(sigma float64, source rand.Source) func(*workload.Request) int32 {
	seed := source.Uint64()
	stream := rand.NewPCG(seed, 0)
	normal := rand.New(stream)
	return func(r *workload.Request) int32 {
		stream.Seed(seed, uint64(r.ID))
		guess := math.Round(float64(Oracle(r)) * math.Exp(sigma*normal.NormFloat64()))
		return int32(min(max(guess, 1), math.MaxInt32))
	}
}

// ByPrompt predicts, from what a server sees of a request, an answer as long as its prompt, or max_tokens if that is less.
func ByPrompt(r *workload.Request) int32 {
	if r.MaxTokens > 0 {
		return min(r.Tokens, r.MaxTokens)
	}
	return r.Tokens
}
