// Checks a folder of tiles, and proofs, with Go's own sumdb/note and sumdb/tlog: code that shares
// nothing with ours.
//
//	tlog FOLDER VKEY [PROOFS]
//
// FOLDER holds what `x811 export --tiles` writes. PROOFS has one proof a line: `inclusion`, index,
// size, leaf hash, root, path; or `consistency`, old size, new size, old root, new root, path;
// hashes in hex. Prints what it checked; exit code 1 names the first thing that does not hold.
package main

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

const (
	height = 8
	width  = 1 << height
	// A larger log has its records proven one in so many.
	proven = 2_000
)

func main() {
	if len(os.Args) < 3 {
		fail("usage: tlog FOLDER VKEY [PROOFS]")
	}
	tree := openCheckpoint(os.Args[1], os.Args[2])
	records := checkRecords(os.Args[1], tree)
	fmt.Printf("checkpoint of %d records opened, %d entries hashed\n", tree.N, records)
	if len(os.Args) > 3 {
		fmt.Printf("%d proofs checked\n", checkProofs(os.Args[3]))
	}
}

func fail(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
	os.Exit(1)
}

func must(err error, format string, arguments ...any) {
	if err != nil {
		fail("%s: %v", fmt.Sprintf(format, arguments...), err)
	}
}

// openCheckpoint verifies the signed note and reads its three lines.
func openCheckpoint(folder, vkey string) tlog.Tree {
	verifier, err := note.NewVerifier(vkey)
	must(err, "vkey")
	signed, err := os.ReadFile(filepath.Join(folder, "checkpoint"))
	must(err, "checkpoint")
	opened, err := note.Open(signed, note.VerifierList(verifier))
	must(err, "checkpoint")
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != verifier.Name() {
		fail("checkpoint: not three lines of the log %s", verifier.Name())
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	must(err, "size")
	root, err := base64.StdEncoding.DecodeString(lines[2])
	must(err, "root")
	tree := tlog.Tree{N: size}
	if copy(tree.Hash[:], root) != len(tree.Hash) || len(root) != len(tree.Hash) {
		fail("root: not 32 bytes")
	}
	return tree
}

// tiles reads tiles of hashes from a folder; tlog checks them against the tree's root.
type tiles string

func (tiles) Height() int                     { return height }
func (tiles) SaveTiles([]tlog.Tile, [][]byte) {}

func (folder tiles) ReadTiles(wanted []tlog.Tile) ([][]byte, error) {
	var read [][]byte
	for _, tile := range wanted {
		// Go's names begin with the height of a tile, C2SP's do not.
		path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/", height), "tile/", 1)
		data, err := os.ReadFile(filepath.Join(string(folder), path))
		if err != nil {
			return nil, err
		}
		if len(data) != tile.W*tlog.HashSize {
			return nil, fmt.Errorf("%s has %d bytes", path, len(data))
		}
		read = append(read, data)
	}
	return read, nil
}

// checkRecords hashes every entry, holds it against the tree, and proves some of them and of the
// earlier trees.
func checkRecords(folder string, tree tlog.Tree) int64 {
	reader := tlog.TileHashReader(tree, tiles(folder))
	every := tree.N/proven + 1
	var index int64
	for ; index*width < tree.N; index++ {
		for i, entry := range entries(folder, index, tree.N) {
			n := index*width + int64(i)
			leaf := tlog.RecordHash(entry)
			stored, err := reader.ReadHashes([]int64{tlog.StoredHashIndex(0, n)})
			must(err, "record %d", n)
			if stored[0] != leaf {
				fail("record %d: the entry is not the one in the tree", n)
			}
			if n%every == 0 {
				prove(reader, tree, n, leaf)
			}
		}
	}
	return tree.N
}

func prove(reader tlog.HashReader, tree tlog.Tree, n int64, leaf tlog.Hash) {
	inclusion, err := tlog.ProveRecord(tree.N, n, reader)
	must(err, "record %d", n)
	must(tlog.CheckRecord(inclusion, tree.N, tree.Hash, n, leaf), "record %d", n)
	old, err := tlog.TreeHash(n+1, reader)
	must(err, "tree of %d", n+1)
	consistency, err := tlog.ProveTree(tree.N, n+1, reader)
	must(err, "tree of %d", n+1)
	must(tlog.CheckTree(consistency, tree.N, tree.Hash, n+1, old), "tree of %d", n+1)
}

// entries reads a bundle: every entry behind its length in two bytes.
func entries(folder string, index, size int64) [][]byte {
	count := size - index*width
	tile := tlog.Tile{H: height, L: 0, N: index, W: width}
	if count < width {
		tile.W = int(count)
	}
	path := strings.Replace(tile.Path(), fmt.Sprintf("tile/%d/0/", height), "tile/entries/", 1)
	data, err := os.ReadFile(filepath.Join(folder, path))
	must(err, "entries")
	var read [][]byte
	for range make([]struct{}, tile.W) {
		if len(data) < 2 || len(data)-2 < int(binary.BigEndian.Uint16(data)) {
			fail("%s ends within an entry", path)
		}
		length := int(binary.BigEndian.Uint16(data))
		read, data = append(read, data[2:2+length]), data[2+length:]
	}
	if len(data) > 0 {
		fail("%s has bytes behind its last entry", path)
	}
	return read
}

// checkProofs checks proofs that others made.
func checkProofs(file string) int {
	data, err := os.ReadFile(file)
	must(err, "proofs")
	lines := bytes.Split(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
	for number, line := range lines {
		words := strings.Fields(string(line))
		if len(words) < 5 {
			fail("proof %d: too few words", number+1)
		}
		first, err := strconv.ParseInt(words[1], 10, 64)
		must(err, "proof %d", number+1)
		second, err := strconv.ParseInt(words[2], 10, 64)
		must(err, "proof %d", number+1)
		var path []tlog.Hash
		for _, word := range words[5:] {
			path = append(path, hash(word))
		}
		before, after := hash(words[3]), hash(words[4])
		switch words[0] {
		case "inclusion":
			err = tlog.CheckRecord(path, second, after, first, before)
		case "consistency":
			err = tlog.CheckTree(path, second, after, first, before)
		default:
			fail("proof %d: of no known kind", number+1)
		}
		must(err, "proof %d", number+1)
	}
	return len(lines)
}

func hash(digits string) (hash tlog.Hash) {
	decoded, err := hex.DecodeString(digits)
	must(err, "hash")
	if copy(hash[:], decoded) != len(hash) || len(decoded) != len(hash) {
		fail("hash: not 32 bytes")
	}
	return hash
}
