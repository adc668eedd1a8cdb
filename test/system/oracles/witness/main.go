// Runs the witness of transparency-dev, which is independent of Tallystick, on loopback. Usage: witness LOGS. LOGS is a file
// of verifier keys, one per line, which is read at every request. Prints the verifier key and address of the witness. The
// program ends when its standard input ends.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"

	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/witness/persistence/inmemory"
	"github.com/transparency-dev/witness/witness"
	"golang.org/x/mod/sumdb/note"
)

func main() {
	logs := os.Args[1]
	key, vkey, err := note.GenerateKey(rand.Reader, "go.example/witness")
	must(err)
	signer, err := fnote.NewSignerForCosignatureV1(key)
	must(err)
	cosignerKey, err := fnote.VKeyToCosignatureV1(vkey)
	must(err)
	w, err := witness.New(context.Background(), witness.Opts{
		Persistence: inmemory.New(),
		Signers:     []note.Signer{signer},
		VerifierForLog: func(_ context.Context, origin string) (note.Verifier, bool, error) {
			keys, err := os.ReadFile(logs)
			if err != nil {
				return nil, false, err
			}
			for _, vkey := range strings.Fields(string(keys)) {
				verifier, err := note.NewVerifier(vkey)
				if err != nil {
					return nil, false, err
				}
				if verifier.Name() == origin {
					return verifier, true, nil
				}
			}
			return nil, false, nil
		},
	})
	must(err)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	mux := http.NewServeMux()
	mux.HandleFunc("POST /add-checkpoint", witness.NewHTTPHandler(w).AddCheckpoint)
	go func() { must(http.Serve(listener, mux)) }()
	fmt.Printf("%s http://%s\n", cosignerKey, listener.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func must(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
