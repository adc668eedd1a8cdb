// Command k6 is k6 as its module publishes it: the module's own main package cannot be installed by name.
package main

import "go.k6.io/k6/v2/cmd"

func main() { cmd.Execute() }
