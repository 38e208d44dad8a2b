package workload

import (
	"slices"
	"testing"
)

func recurringSpec() Spec {
	return Spec{
		Requests: 25, Arrivals: Constant{}, Rate: 100,
		Prompt: Length{Law: Uniform{100, 200}}, Output: Length{Law: Fixed{3}},
		Prefix: Prefix{Groups: 3, Tokens: 50, Distinct: 10},
	}
}

func TestPromptsComeRoundInOneOrder(t *testing.T) {
	seen := play(t, recurringSpec())
	for i := 10; i < len(seen); i++ {
		if !slices.Equal(seen[i].Prompt, seen[i-10].Prompt) {
			t.Errorf("prompt %d is %v, prompt %d was %v", i, seen[i].Prompt, i-10, seen[i-10].Prompt)
		}
		if seen[i].Answer == seen[i-10].Answer {
			t.Errorf("requests %d and %d have the same answer", i-10, i)
		}
	}
	groups := map[uint64]int{}
	own := map[uint64]bool{}
	for _, r := range seen[:10] {
		groups[r.Prompt[0].Label]++
		own[r.Prompt[1].Label] = true
		if r.Prompt[0].Len != 50 || r.Tokens != 50+r.Prompt[1].Len {
			t.Errorf("prompt %v of %d tokens", r.Prompt, r.Tokens)
		}
	}
	if len(own) != 10 || len(groups) != 3 {
		t.Errorf("%d different prompts in %d groups, want 10 in 3", len(own), len(groups))
	}
	for label, n := range groups { // order does not matter: each is checked by itself
		if n < 3 || n > 4 {
			t.Errorf("group %x has %d prompts, want 3 or 4", label, n)
		}
	}
}

func TestALaterRunGoesOnCounting(t *testing.T) {
	s := recurringSpec()
	whole := play(t, s)
	s.First, s.Requests = 20, 5
	rest := play(t, s)
	for i := range rest {
		a, b := rest[i], whole[20+i]
		if a.ID != b.ID || a.Answer != b.Answer || !slices.Equal(a.Prompt, b.Prompt) {
			t.Errorf("request %d is %+v, in one run it was %+v", i, a, b)
		}
	}
}

func TestDistinctPromptsAreBounded(t *testing.T) {
	s := recurringSpec()
	s.Prefix.Distinct = -1
	if _, err := New(s, nil); err == nil {
		t.Error("no error for -1 distinct prompts")
	}
}
