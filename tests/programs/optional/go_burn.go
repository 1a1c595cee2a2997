// by hand: CGO_ENABLED=0 go build -o OUTPUT SOURCE
// A static program of a runtime that is not libc.
package main

import "fmt"

func main() {
	sum := 0
	for i := 0; i < 100000000; i++ {
		sum += i ^ (sum >> 3)
	}
	fmt.Println("go:", sum)
}
