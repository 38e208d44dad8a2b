package scheduler

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/servesim/servesim/kvcache"
)

func TestBlocksAreCountedAsByDivision(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.OneOf(rapid.Int32Range(1, 40), rapid.Int32Range(1, 1<<20)).Draw(t, "size")
		b := newBatcher(Limits{}, kvcache.New(kvcache.Config{Blocks: 1, BlockSize: int(size)}))
		tokens := rapid.OneOf(rapid.Int32Range(0, 100), rapid.Int32Range(0, math.MaxInt32-1<<20)).Draw(t, "tokens")
		if got, want := b.floor(tokens), tokens/size*size; got != want {
			t.Errorf("%d tokens in blocks of %d: whole blocks of %d, want %d", tokens, size, got, want)
		}
		if got, want := b.blocks(tokens), (int(tokens)+int(size)-1)/int(size); got != want {
			t.Errorf("%d tokens need %d blocks of %d, want %d", tokens, got, size, want)
		}
	})
}
