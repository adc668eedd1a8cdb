// linearizability FILE [control]: checks a history of clients with porcupine. Each line is an operation:
//
//	{"of":"ledger"|"rec_…","client":n,"op":"append"|"read"|"size"|"step"|"version","call":ns,"return":ns,"key":n,"at":n,"result":n}
//
// `return` is 0 if it is unknown whether the operation happened. Then it may take effect at any later time, or never.
// With `control`, one read is changed to an older state, which the checker must notice. Prints the numbers of
// operations and histories, and a verdict. The exit code is 1 if the history is not linearizable, and 2 if that was not
// decided in time.
package main

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

const timeMax = 2 * time.Minute

type operation struct {
	Of     string `json:"of"`
	Client int    `json:"client"`
	Op     string `json:"op"`
	Call   int64  `json:"call"`
	Return int64  `json:"return"`
	// Key that an append adds to the list.
	Key uint32 `json:"key"`
	// For a read it is the position that is read. For a step it is the version that the step is for.
	At int `json:"at"`
	// The result depends on the operation. For an append it is the position. For a read it is the key that was returned,
	// or -1 if there was none. For size and version it is the number. For a step it is 1 if the step was taken, and 0 if
	// it was refused.
	Result int `json:"result"`
}

// A ledger is a list of keys of 4 bytes each. It is a string, because strings are comparable and immutable.
var ledger = porcupine.Model{
	Init: func() any { return "" },
	Step: func(state, input, _ any) (bool, any) {
		list, o := state.(string), input.(operation)
		switch o.Op {
		case "append":
			if at := find(list, o.Key); at >= 0 {
				return o.Return == 0 || o.Result == at, list
			}
			return o.Return == 0 || o.Result == len(list)/4, list + encode(o.Key)
		case "read":
			found := o.At*4 < len(list) && list[o.At*4:o.At*4+4] == encode(uint32(o.Result))
			return found, list
		default:
			return o.Result == len(list)/4, list
		}
	},
}

// A gated record is a register with a version. A step for the current version increases the version by one.
var record = porcupine.Model{
	Init: func() any { return 1 },
	Step: func(state, input, _ any) (bool, any) {
		version, o := state.(int), input.(operation)
		fits := version == o.At
		switch {
		case o.Op == "version":
			return o.Result == version, version
		case o.Return == 0 && fits, o.Result == 1 && fits:
			return true, version + 1
		default:
			return o.Return == 0 || (o.Result == 0 && !fits), version
		}
	},
}

func main() {
	histories := map[string][]porcupine.Operation{}
	operations := readOperations(os.Args[1])
	if len(os.Args) > 2 {
		alter(operations)
	}
	for _, o := range operations {
		end := o.Return
		if end == 0 {
			end = math.MaxInt64
		}
		histories[o.Of] = append(histories[o.Of], porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: end})
	}
	code, verdict := 0, "linearizable"
	for of, history := range histories {
		model := record
		if of == "ledger" {
			model = ledger
		}
		switch porcupine.CheckOperationsTimeout(model, history, timeMax) {
		case porcupine.Illegal:
			code, verdict = 1, "NOT linearizable: "+of
		case porcupine.Unknown:
			code, verdict = max(code, 2), "not decided: "+of
		}
	}
	fmt.Printf("operations=%d histories=%d %s\n", len(operations), len(histories), verdict)
	os.Exit(code)
}

func readOperations(file string) []operation {
	f, err := os.Open(file)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	var operations []operation
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var o operation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			panic(err)
		}
		operations = append(operations, o)
	}
	return operations
}

// alter makes the last read of the size return a smaller size: the position of an append that was acknowledged before
// the read. The checker must notice this, because the size is larger than every earlier position.
func alter(operations []operation) {
	for i := len(operations) - 1; i >= 0; i-- {
		if o := &operations[i]; o.Op == "size" && o.Result > 1 {
			for _, p := range operations {
				if p.Op == "append" && p.Return != 0 && p.Return < o.Call && p.Result > 0 {
					o.Result = p.Result
					return
				}
			}
		}
	}
	panic("there is no read to alter")
}

func find(list string, key uint32) int {
	for rest, sought, at := list, encode(key), 0; ; {
		i := strings.Index(rest, sought)
		if i < 0 {
			return -1
		}
		if (at+i)%4 == 0 {
			return (at + i) / 4
		}
		rest, at = rest[i+1:], at+i+1
	}
}

func encode(key uint32) string {
	return string(binary.BigEndian.AppendUint32(nil, key))
}
