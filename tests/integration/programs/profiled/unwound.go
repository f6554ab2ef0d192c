// Works for ever in four goroutines; for cpu_truth.py.
package main

import (
	"crypto/sha256"
	"fmt"
	"runtime"
	"sort"
	"strings"
	"time"
)

func fibonacci(n int) int {
	if n < 2 {
		return n
	}
	return fibonacci(n-1) + fibonacci(n-2)
}

func work(k int) {
	counts := map[string]int{}
	for {
		for i := 0; i < 2000; i++ {
			counts[fmt.Sprintf("key %d", i*7919%500)] += i
		}
		keys := make([]string, 0, len(counts))
		for key := range counts {
			keys = append(keys, key)
		}
		sort.Strings(keys)
		sum := sha256.Sum256([]byte(strings.Join(keys, ",")))
		fibonacci(15 + k + int(sum[0]&1))
		time.Now()
		runtime.Gosched()
	}
}

func main() {
	for k := 0; k < 4; k++ {
		go work(k)
	}
	select {}
}
