package workload

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
	"time"
)

// numbers returns numbers of every length, and those where a digit is added.
func numbers() []int64 {
	r := rand.New(rand.NewPCG(1, 2))
	all := []int64{0, math.MaxInt64}
	for p := int64(1); ; p *= 10 {
		all = append(all, p-1, p, p+1)
		for range 1000 {
			all = append(all, r.Int64N(p))
		}
		if p > math.MaxInt64/10 {
			return all
		}
	}
}

func TestNumbersAreWrittenAsTheStandardLibraryWritesThem(t *testing.T) {
	check := func(got []byte, want string) {
		t.Helper()
		if string(got) != ","+want+"," {
			t.Errorf("got %s, want ,%s,", got, want)
		}
	}
	comma := []byte(",")
	for _, n := range numbers() {
		check(AppendInt(comma, n, ','), strconv.FormatInt(n, 10))
		check(AppendInt(comma, -n, ','), strconv.FormatInt(-n, 10))
		check(appendHex(comma, uint64(n), ','), strconv.FormatInt(n, 16))
		check(appendHex(comma, -uint64(n), ','), strconv.FormatUint(-uint64(n), 16))
		check(AppendMillis(comma, time.Duration(n)), fmt.Sprintf("%d.%06d", n/1e6, n%1e6))
		check(AppendSeconds(comma, time.Duration(n)), fmt.Sprintf("%d.%09d", n/1e9, n%1e9))
	}
	check(AppendSeconds(comma, math.MinInt64), "-9223372036.854775808")
	check(AppendInt(comma, math.MinInt64, ','), "-9223372036854775808")
}

func TestEightDigitsAreSplitExactly(t *testing.T) {
	for n := uint64(0); n < 1e8; n += 1 + n%7 {
		w, rest := digits8(n), n
		for i := 56; i >= 0; i -= 8 {
			if w>>i&0xff != rest%10 {
				t.Fatalf("digits of %d: %016x", n, w)
			}
			rest /= 10
		}
	}
}
