package main

import (
	"encoding/base64"
	"encoding/hex"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

// checkProofFile checks a C2SP tlog-proof about its own `extra`, and says which record it is of.
func checkProofFile(file []byte, vkey string) int64 {
	head, checkpoint, found := strings.Cut(string(file), "\n\n")
	lines := strings.Split(head, "\n")
	if !found || len(lines) < 3 || lines[0] != "c2sp.org/tlog-proof@v1" {
		refuse("proof: not a proof file with extra, index and checkpoint")
	}
	extra, err := base64.StdEncoding.Strict().DecodeString(after(lines[1], "extra "))
	must(err, "extra")
	index := number(after(lines[2], "index "))
	tree := openCheckpoint([]byte(checkpoint), vkey)
	err = tlog.CheckRecord(base64Hashes(lines[3:]), tree.N, tree.Hash, index, tlog.RecordHash(extra))
	must(err, "proof")
	return index
}

// checkConsistencyFile checks the body of a C2SP tlog-witness request against the older tree.
func checkConsistencyFile(file []byte, older tlog.Tree, vkey string) tlog.Tree {
	head, checkpoint, found := strings.Cut(string(file), "\n\n")
	lines := strings.Split(head, "\n")
	if !found || number(after(lines[0], "old ")) != older.N {
		refuse("consistency: not from the older checkpoint on")
	}
	tree := openCheckpoint([]byte(checkpoint), vkey)
	path := base64Hashes(lines[1:])
	if older.N == 0 {
		// sumdb/tlog has no proofs from nothing on: there is nothing to prove.
		if len(path) > 0 {
			refuse("consistency: hashes that prove nothing")
		}
		return tree
	}
	must(tlog.CheckTree(path, tree.N, tree.Hash, older.N, older.Hash), "consistency")
	return tree
}

// checkProofs checks bare proofs, one a line.
func checkProofs(file []byte) int {
	lines := strings.Split(strings.TrimSuffix(string(file), "\n"), "\n")
	for at, line := range lines {
		words := strings.Fields(line)
		if len(words) < 5 {
			refuse("proof %d: too few words", at+1)
		}
		first, second := number(words[1]), number(words[2])
		var path []tlog.Hash
		for _, word := range words[5:] {
			path = append(path, hexHash(word))
		}
		before, after := hexHash(words[3]), hexHash(words[4])
		var err error
		switch words[0] {
		case "inclusion":
			err = tlog.CheckRecord(path, second, after, first, before)
		case "consistency":
			err = tlog.CheckTree(path, second, after, first, before)
		default:
			refuse("proof %d: of no known kind", at+1)
		}
		must(err, "proof %d", at+1)
	}
	return len(lines)
}

func after(line, start string) string {
	if !strings.HasPrefix(line, start) {
		refuse("no line %q", start)
	}
	return line[len(start):]
}

func number(digits string) int64 {
	number, err := strconv.ParseInt(digits, 10, 64)
	must(err, "number")
	if strconv.FormatInt(number, 10) != digits || number < 0 {
		refuse("number: %q is not how it is written", digits)
	}
	return number
}

func base64Hashes(lines []string) (path []tlog.Hash) {
	for _, line := range lines {
		path = append(path, base64Hash(line))
	}
	return path
}

func base64Hash(text string) tlog.Hash {
	decoded, err := base64.StdEncoding.Strict().DecodeString(text)
	must(err, "hash")
	return hash(decoded)
}

func hexHash(digits string) tlog.Hash {
	decoded, err := hex.DecodeString(digits)
	must(err, "hash")
	return hash(decoded)
}

func hash(bytes []byte) (hash tlog.Hash) {
	if copy(hash[:], bytes) != len(hash) || len(bytes) != len(hash) {
		refuse("hash: not 32 bytes")
	}
	return hash
}
