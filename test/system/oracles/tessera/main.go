// Runs a Tessera log. A witness must cosign the log's checkpoints before they are published.
//
// Usage: tessera KEY VKEY FOLDER WITNESS URL LIMIT. WITNESS is the witness's key, and LIMIT is the maximum time that
// the witness may take. Go's note library verifies the newest checkpoint with the keys of the log and of the witness.
// Then the checkpoint is printed.
//
// `tessera NAME` makes and prints KEY and VKEY.
package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/tessera"
	"github.com/transparency-dev/tessera/storage/posix"
	"golang.org/x/mod/sumdb/note"
)

const entries = 700

func main() {
	if len(os.Args) == 2 {
		key, vkey, err := note.GenerateKey(rand.Reader, os.Args[1])
		must(err)
		fmt.Printf("%s %s\n", key, vkey)
		return
	}
	key, vkey, folder, witnessKey, address := os.Args[1], os.Args[2], os.Args[3], os.Args[4], os.Args[5]
	limit, err := time.ParseDuration(os.Args[6])
	must(err)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	signer, err := note.NewSigner(key)
	must(err)
	root, err := url.Parse(address)
	must(err)
	witness, err := tessera.NewWitness(witnessKey, root)
	must(err)
	driver, err := posix.New(ctx, posix.Config{Path: folder})
	must(err)
	options := tessera.NewAppendOptions().
		WithCheckpointSigner(signer).
		WithCheckpointInterval(200*time.Millisecond).
		WithBatching(64, 50*time.Millisecond).
		WithWitnesses(tessera.NewWitnessGroup(1, witness), nil)
	appender, shutdown, reader, err := tessera.NewAppender(ctx, driver, options)
	must(err)
	for first := 0; first < entries; first += entries / 7 {
		var last tessera.IndexFuture
		for i := range entries / 7 {
			last = appender.Add(ctx, tessera.NewEntry(fmt.Appendf(nil, "entry %d", first+i)))
		}
		awaiter := tessera.NewPublicationAwaiter(ctx, reader.ReadCheckpoint, 50*time.Millisecond)
		_, _, err := awaiter.Await(ctx, last)
		must(err)
	}
	must(shutdown(ctx))
	checkpoint, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	must(err)
	must(verify(checkpoint, vkey, witnessKey))
	fmt.Print(string(checkpoint))
}

// verify opens the note with the key of the log, and with the key of the witness.
func verify(checkpoint []byte, vkey, witnessKey string) error {
	ofLog, err := note.NewVerifier(vkey)
	if err != nil {
		return err
	}
	ofWitness, err := fnote.NewVerifierForCosignatureV1(witnessKey)
	if err != nil {
		return err
	}
	opened, err := note.Open(checkpoint, note.VerifierList(ofLog, ofWitness))
	if err != nil {
		return err
	}
	if len(opened.Sigs) != 2 {
		return fmt.Errorf("%d of 2 signatures verified", len(opened.Sigs))
	}
	return nil
}

func must(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
