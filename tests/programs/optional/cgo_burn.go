// by hand: go build -o OUTPUT SOURCE
// Goroutines that burn in Go and in C. Go's runtime takes every signal for its own: a SIGTRAP that it does not know is fatal.
package main

/*
static long burn(long steps)
{
    volatile long sum = 0;
    for (long i = 0; i < steps; i++)
        sum += i;
    return sum;
}
*/
import "C"

import (
	"fmt"
	"sync"
)

func burn(steps int) (sum int) {
	for i := 0; i < steps; i++ {
		sum += i ^ (sum >> 3)
	}
	return sum
}

func main() {
	var group sync.WaitGroup
	results := make([]int, 4)
	for i := range results {
		group.Add(1)
		go func(i int) {
			defer group.Done()
			if i%2 == 0 {
				results[i] = burn(60000000)
			} else {
				results[i] = int(C.burn(60000000))
			}
		}(i)
	}
	group.Wait()
	fmt.Println("cgo:", results)
}
