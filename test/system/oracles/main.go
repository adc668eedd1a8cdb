// Reads a ledger as a tiled log, with two clients that are independent of Tallystick: Go's client of checksum databases
// and Tessera's. Usage: oracles URL VKEY [Authorization [Witness]]. With the verifier key of a witness, the checkpoint must
// have that witness's cosignature.
//
// A second usage checks one statement with its receipt: oracles statement FILE VKEY ISSUER-KEY.
package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	fnote "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/rfc6962"
	"github.com/transparency-dev/tessera/api"
	"github.com/transparency-dev/tessera/client"
	"github.com/transparency-dev/tessera/fsck"
	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	if os.Args[1] == "statement" {
		must(checkStatement(os.Args[2], os.Args[3], os.Args[4]))
		return
	}
	address, vkey, authorization := os.Args[1], os.Args[2], ""
	if len(os.Args) > 3 {
		authorization = os.Args[3]
	}
	verifier, err := note.NewVerifier(vkey)
	must(err)
	if len(os.Args) > 4 {
		must(checkCosignature(&log{address, authorization, map[string][]byte{}}, verifier, os.Args[4]))
		fmt.Println("formats/note: the witness has cosigned the checkpoint")
	}
	size, err := checkWithTlog(&log{address, authorization, map[string][]byte{}}, verifier)
	must(err)
	fmt.Printf("sumdb/note and sumdb/tlog: every leaf of %d is in the tree of the checkpoint\n", size)
	must(checkWithTessera(address, authorization, verifier))
	fmt.Println("tessera fsck: every tile and bundle is that of the checkpoint")
}

// checkCosignature verifies the checkpoint with the keys of the log and of a witness.
func checkCosignature(l *log, verifier note.Verifier, vkey string) error {
	witness, err := fnote.NewVerifierForCosignatureV1(vkey)
	if err != nil {
		return err
	}
	checkpoint, err := l.get("checkpoint")
	if err != nil {
		return err
	}
	opened, err := note.Open(checkpoint, note.VerifierList(verifier, witness))
	if err != nil {
		return err
	}
	if len(opened.Sigs) != 2 {
		return fmt.Errorf("%d of 2 signatures verified", len(opened.Sigs))
	}
	return nil
}

// checkWithTlog verifies the checkpoint, every tile, and the hash and inclusion proof of every entry.
func checkWithTlog(l *log, verifier note.Verifier) (int64, error) {
	checkpoint, err := l.get("checkpoint")
	if err != nil {
		return 0, err
	}
	opened, err := note.Open(checkpoint, note.VerifierList(verifier))
	if err != nil {
		return 0, err
	}
	tree, err := parseTree(opened.Text, verifier.Name())
	if err != nil {
		return 0, err
	}
	reader := tlog.TileHashReader(tree, l)
	for first := int64(0); first < tree.N; first += 256 {
		entries, err := l.entries(first/256, min(256, tree.N-first))
		if err != nil {
			return 0, err
		}
		for i, entry := range entries {
			index := first + int64(i)
			proof, err := tlog.ProveRecord(tree.N, index, reader)
			if err != nil {
				return 0, err
			}
			if err := tlog.CheckRecord(proof, tree.N, tree.Hash, index, tlog.RecordHash(entry)); err != nil {
				return 0, fmt.Errorf("entry %d: %v", index, err)
			}
		}
	}
	for older := int64(1); older <= tree.N; older = older*2 + 1 {
		root, err := tlog.TreeHash(older, reader)
		if err != nil {
			return 0, err
		}
		proof, err := tlog.ProveTree(tree.N, older, reader)
		if err != nil {
			return 0, err
		}
		if err := tlog.CheckTree(proof, tree.N, tree.Hash, older, root); err != nil {
			return 0, err
		}
	}
	return tree.N, nil
}

// checkWithTessera derives every tile from the entries and compares it with the served tile. It also compares the derived
// root with the checkpoint's.
func checkWithTessera(address, authorization string, verifier note.Verifier) error {
	root, err := url.Parse(address + "/")
	if err != nil {
		return err
	}
	fetcher, err := client.NewHTTPFetcher(root, http.DefaultClient)
	if err != nil {
		return err
	}
	fetcher.SetAuthorizationHeader(authorization)
	return fsck.New(verifier.Name(), verifier, fetcher, hashBundle, fsck.Opts{N: 2}).Check(context.Background())
}

func hashBundle(bundle []byte) ([][]byte, error) {
	parsed := &api.EntryBundle{}
	if err := parsed.UnmarshalText(bundle); err != nil {
		return nil, err
	}
	hashes := make([][]byte, 0, len(parsed.Entries))
	for _, entry := range parsed.Entries {
		hashes = append(hashes, rfc6962.DefaultHasher.HashLeaf(entry))
	}
	return hashes, nil
}

func parseTree(text, origin string) (tlog.Tree, error) {
	lines := strings.Split(text, "\n")
	if len(lines) < 3 || lines[0] != origin {
		return tlog.Tree{}, fmt.Errorf("no checkpoint of %s", origin)
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil {
		return tlog.Tree{}, err
	}
	root, err := base64.StdEncoding.DecodeString(lines[2])
	if err != nil || len(root) != tlog.HashSize {
		return tlog.Tree{}, fmt.Errorf("no root: %v", err)
	}
	return tlog.Tree{N: size, Hash: tlog.Hash(root)}, nil
}

// log is a tlog.TileReader over HTTP. It reads each file once, because files never change.
type log struct {
	address, authorization string
	read                   map[string][]byte
}

func (l *log) Height() int { return 8 }

func (l *log) SaveTiles([]tlog.Tile, [][]byte) {}

func (l *log) ReadTiles(tiles []tlog.Tile) ([][]byte, error) {
	data := make([][]byte, len(tiles))
	for i, tile := range tiles {
		// The path in a checksum database contains the height, such as tile/8/0/x001/234. The server's path does not.
		bytes, err := l.get("tile/" + strings.TrimPrefix(tile.Path(), "tile/8/"))
		if err != nil {
			return nil, err
		}
		data[i] = bytes
	}
	return data, nil
}

func (l *log) entries(n, width int64) ([][]byte, error) {
	tile := tlog.Tile{H: 8, L: 0, N: n, W: int(width)}
	bundle, err := l.get("tile/entries/" + strings.TrimPrefix(tile.Path(), "tile/8/0/"))
	if err != nil {
		return nil, err
	}
	var entries [][]byte
	for reader := bytes.NewReader(bundle); reader.Len() > 0; {
		high, _ := reader.ReadByte()
		low, err := reader.ReadByte()
		if err != nil {
			return nil, err
		}
		entry := make([]byte, int(high)<<8|int(low))
		if _, err := io.ReadFull(reader, entry); err != nil {
			return nil, err
		}
		entries = append(entries, entry)
	}
	if int64(len(entries)) != width {
		return nil, fmt.Errorf("bundle %d has %d entries, not %d", n, len(entries), width)
	}
	return entries, nil
}

func (l *log) get(path string) ([]byte, error) {
	if known, ok := l.read[path]; ok {
		return known, nil
	}
	request, err := http.NewRequest(http.MethodGet, l.address+"/"+path, nil)
	if err != nil {
		return nil, err
	}
	if l.authorization != "" {
		request.Header.Set("Authorization", l.authorization)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answered %d", path, response.StatusCode)
	}
	data, err := io.ReadAll(response.Body)
	l.read[path] = data
	return data, err
}

func must(err error) {
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
