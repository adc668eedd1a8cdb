package main

import (
	"crypto"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fxamacker/cbor/v2"
	"github.com/veraison/go-cose"
	"golang.org/x/mod/sumdb/tlog"
)

// Labels of RFC 9942, and of RFC 8392.
const (
	labelReceipts  = int64(394)
	labelProofs    = int64(396)
	labelInclusion = int64(-1)
	claimSubject   = int64(2)
)

// checkStatement verifies a Transparent Statement (RFC 9943): the issuer's signature with its key (DER, base64), and the
// receipt with the ledger's verifier key.
func checkStatement(file, vkey, issuerKey string) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var statement cose.Sign1Message
	if err := statement.UnmarshalCBOR(data); err != nil {
		return err
	}
	receipts, ok := statement.Headers.Unprotected[labelReceipts].([]any)
	if !ok || len(receipts) != 1 {
		return errors.New("no receipt")
	}
	if err := verify(&statement, issuerKey); err != nil {
		return fmt.Errorf("issuer: %v", err)
	}
	// RFC 9943 registers the statement without the unprotected header, because others may add labels to that header.
	statement.Headers.Unprotected, statement.Headers.RawUnprotected = cose.UnprotectedHeader{}, nil
	registered, err := statement.MarshalCBOR()
	if err != nil {
		return err
	}
	return checkReceipt(receipts[0].([]byte), registered, vkey)
}

func checkReceipt(data, registered []byte, vkey string) error {
	var receipt cose.Sign1Message
	if err := receipt.UnmarshalCBOR(data); err != nil {
		return err
	}
	proofs := receipt.Headers.Unprotected[labelProofs].(map[any]any)[labelInclusion].([]any)
	var proof struct {
		_     struct{} `cbor:",toarray"`
		Size  int64
		Index int64
		Path  [][]byte
	}
	if err := cbor.Unmarshal(proofs[0].([]byte), &proof); err != nil {
		return err
	}
	path := make(tlog.RecordProof, len(proof.Path))
	for i, hash := range proof.Path {
		path[i] = tlog.Hash(hash)
	}
	leaf := tlog.RecordHash(registered)
	root := rootOf(leaf, proof.Index, proof.Size, path)
	if err := tlog.CheckRecord(path, proof.Size, root, proof.Index, leaf); err != nil {
		return err
	}
	name := strings.SplitN(vkey, "+", 3)
	// The claim must name the ledger, because all ledgers of a server share a key.
	claims, ok := receipt.Headers.Protected[cose.HeaderLabelCWTClaims].(map[any]any)
	if !ok || claims[claimSubject] != name[0] {
		return fmt.Errorf("a receipt of %v", claims[claimSubject])
	}
	encoded, err := base64.StdEncoding.DecodeString(name[2])
	if err != nil {
		return err
	}
	verifier, err := cose.NewVerifier(cose.AlgorithmEdDSA, ed25519.PublicKey(encoded[1:]))
	if err != nil {
		return err
	}
	receipt.Payload = root[:]
	if err := receipt.Verify(nil, verifier); err != nil {
		return fmt.Errorf("receipt: %v", err)
	}
	fmt.Printf("go-cose and sumdb/tlog: entry %d of %d\n", proof.Index, proof.Size)
	return nil
}

// rootOf computes the root of a path. It is RFC 9162, section 2.1.3.1, in reverse: the last hash of the path belongs to the
// highest split.
func rootOf(leaf tlog.Hash, index, size int64, path tlog.RecordProof) tlog.Hash {
	if size <= 1 || len(path) == 0 {
		return leaf
	}
	split := int64(1)
	for split*2 < size {
		split *= 2
	}
	below, sibling := path[:len(path)-1], path[len(path)-1]
	if index < split {
		return tlog.NodeHash(rootOf(leaf, index, split, below), sibling)
	}
	return tlog.NodeHash(sibling, rootOf(leaf, index-split, size-split, below))
}

func verify(message *cose.Sign1Message, spki string) error {
	der, err := base64.StdEncoding.DecodeString(spki)
	if err != nil {
		return err
	}
	key, err := x509.ParsePKIXPublicKey(der)
	if err != nil {
		return err
	}
	algorithm, err := message.Headers.Protected.Algorithm()
	if err != nil {
		return err
	}
	verifier, err := cose.NewVerifier(algorithm, crypto.PublicKey(key))
	if err != nil {
		return err
	}
	return message.Verify(nil, verifier)
}
