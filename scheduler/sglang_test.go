package scheduler_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servesim/servesim/kvcache"
	"github.com/servesim/servesim/scheduler"
)

// sglang returns a world under SGLang's scheduler with its defaults, changed.
func sglang(t tester, blocks int, change func(*scheduler.SGLangRules)) *world {
	s := sgl
	if change != nil {
		change(&s.SGLang)
	}
	return under(t, "sglang", blocks, s, withCaching)
}

// Prefill first: as long as prompts keep coming nobody decodes. Under chunked each step has both.
func TestSGLangStallsDecodesWhilePromptsKeepComing(t *testing.T) {
	s, c := sglang(t, 1000, nil), chunked(t, 1000, nil)
	for _, w := range []*world{s, c} {
		first := w.add(100, 50)
		w.step()
		for range 20 {
			w.add(100, 1)
			w.step()
		}
		if want := map[*world]int32{s: 1, c: 21}[w]; first.Out != want {
			t.Errorf("it has %d tokens after 20 prompts, want %d", first.Out, want)
		}
	}
}

func TestSGLangComputesOneLongPromptAtATimeAndNobodyDecodes(t *testing.T) {
	w := sglang(t, 1000, func(r *scheduler.SGLangRules) { r.ChunkedPrefillSize = 1000 })
	w.add(100, 3)
	w.step()
	w.add(1500, 2)
	w.add(700, 2)
	w.expect("1: 1000@0+", "1: 500@1000!  2: 500@0+", "2: 200@500!", "0: 1@100!  1: 1@1500!  2: 1@700!")
}

func TestSGLangMixesChunksWithDecodesWhenAsked(t *testing.T) {
	w := sglang(t, 1000, func(r *scheduler.SGLangRules) { r.ChunkedPrefillSize, r.EnableMixedChunk = 1000, true })
	w.add(100, 4)
	w.step()
	w.add(1500, 2)
	w.expect("0: 1@100!  1: 999@0+", "0: 1@101!  1: 501@999!", "0: 1@102!  1: 1@1500!")
}

func TestSGLangWithoutChunksGivesALongPromptAStepForItself(t *testing.T) {
	w := sglang(t, 1000, func(r *scheduler.SGLangRules) { r.ChunkedPrefillSize, r.MaxPrefillTokens = 0, 1000 })
	w.add(1500, 1)
	w.add(600, 1)
	w.add(600, 1)
	w.add(300, 1)
	w.expect("0: 1500@0+!", "1: 600@0+!", "2: 600@0+!  3: 300@0+!")
}

// Retraction: the one with the fewest generated tokens goes, to the end of the line. Under chunked it would be the last
// admitted, too, but it would go to the front.
func TestSGLangRetractsTheYoungestToTheEndOfTheLine(t *testing.T) {
	w := sglang(t, 20, func(r *scheduler.SGLangRules) { r.Conservativeness = 0 }) // newcomers count in full, the running not at all
	for i, prompt := range []int32{60, 40, 61, 61} {
		w.ask(prompt, 12, int32(100-40*(i/3))) // 4, 3, 4, 4 blocks
		w.step()
	}
	w.expect("0: 1@60!  1: 1@40!  2: 1@61!  3: 1@61!")
	young := w.ask(40, 10, 20) // 4 blocks and a page are the 5 that are left; it takes 3
	w.expect("4: 40@0+!")
	w.ask(300, 1, 20) // fits nowhere yet
	w.expect(
		"0: 1@61!  1: 1@41!  2: 1@62!  3: 1@62!  4: 1@40!",
		"0: 1@62!  1: 1@42!  2: 1@63!  3: 1@63!  4: 1@41!",
		"0: 1@63!  1: 1@43!  2: 1@64!  3: 1@64!  4: 1@42!", // the two free blocks
		"-4  0: 1@64!  1: 1@44!  2: 1@65!  3: 1@65!",
	)
	if young.State != scheduler.Preempted || young.Out != 4 {
		t.Errorf("it is %v with %d tokens", young.State, young.Out)
	}
	steps := w.finish()
	at := func(row string) int {
		return slices.IndexFunc(steps, func(s string) bool { return strings.Contains(s, row) })
	}
	if waited, retracted := at("5: 300@0+!"), at("4: 44@0+!"); waited < 0 || retracted < waited {
		t.Errorf("the one that waited comes in step %d, the one retracted in %d:\n%s", waited, retracted, strings.Join(steps, "\n"))
	}
}

// Of those that have generated equally little the one with the longest prompt goes.
func TestSGLangRetractsTheLongestPromptOfTheYoungest(t *testing.T) {
	w := sglang(t, 17, func(r *scheduler.SGLangRules) { r.Conservativeness = 0 })
	for i, prompt := range []int32{63, 95, 63} { // 4, 6 and 4 blocks, in three steps without a decode
		w.ask(prompt, 20, int32(60-20*i))
		w.step()
	}
	for range 17 {
		w.step() // the three free blocks go after the first
	}
	w.expect("-1  0: 1@80!  2: 1@80!")
}

// What clients ask for, not what they get, decides how many run: the same answers with a tenth of max_tokens are admitted
// together, and a lower conservativeness does the same.
func TestSGLangReservesByMaxTokensAndConservativeness(t *testing.T) {
	admitted := func(maxTokens int32, conservativeness float64) int {
		w := sglang(t, 300, func(r *scheduler.SGLangRules) { r.Conservativeness = conservativeness })
		w.ask(100, 90, maxTokens)
		for range 5 {
			w.step()
		}
		for range 10 {
			w.ask(100, 90, maxTokens)
			w.step()
		}
		running, _ := w.sched.Load()
		return running
	}
	// 4800 tokens: three times 1100 fit beside the first; each of the running counts 0.7 of what is left.
	if few, many, bold := admitted(1000, 1), admitted(100, 1), admitted(1000, 0.1); few >= 8 || many != 11 || bold <= few {
		t.Errorf("%d run with a large max_tokens, %d with a small one, %d with a low conservativeness", few, many, bold)
	}
}

// At most 4096 tokens of an answer count.
func TestSGLangClipsWhatItReserves(t *testing.T) {
	w := under(t, "sglang", 1000, sgl, func(l *scheduler.Limits, _ *kvcache.Config) { l.MaxModelLen = 100_000 })
	w.ask(100, 2, 10)
	w.step()
	w.ask(100, 2, 50_000) // 4196 tokens of the pool's 16000
	w.expect("1: 100@0+!")
}

func TestSGLangAdmitsByTheLongestCachedPrefixWhenAsked(t *testing.T) {
	w := sglang(t, 1000, func(r *scheduler.SGLangRules) { r.LongestPrefixMatch, r.ChunkedPrefillSize = true, 300 })
	w.send(shared(), 1, 0)
	w.finish()
	w.add(300, 1)                                                   // 1: nothing of it is cached
	w.send(append(shared(), kvcache.Run{Label: 7, Len: 100}), 1, 0) // 2: 64 tokens are
	w.expect("2: 100@64+!  1: 200@0+", "1: 100@200!")
}

func TestSGLangPutsOffWhoeverCouldShareAPrefixOfAnother(t *testing.T) {
	w := sglang(t, 1000, func(r *scheduler.SGLangRules) { r.LongestPrefixMatch, r.ChunkedPrefillSize = true, 200 })
	begin := kvcache.Run{Label: 9, Len: 50}
	for i := range uint64(2) {
		w.send(kvcache.Prompt{begin, {Label: 20 + i, Len: 50}}, 1, 0)
	}
	w.add(100, 1)
	w.expect("0: 100@0+!  2: 100@0+!", "1: 52@48+!")
}

func TestSGLangKeepsTheOrderOfALongLine(t *testing.T) {
	w := sglang(t, 10_000, func(r *scheduler.SGLangRules) { r.LongestPrefixMatch, r.ChunkedPrefillSize = true, 300 })
	w.send(shared(), 1, 0)
	w.finish()
	for range 128 {
		w.add(300, 1)
	}
	w.send(append(shared(), kvcache.Run{Label: 7, Len: 100}), 1, 0)
	w.expect("1: 300@0+!", "129: 100@64+!  2: 200@0+") // 129 wait, then 128
}
