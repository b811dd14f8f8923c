package main

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/tlog"
)

const (
	height = 8
	width  = 1 << height
	// A larger log has its records proven one in so many.
	proven = 2_000
)

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

// checkTiles hashes every entry, holds it against the tree, and proves some of them and of the
// earlier trees.
func checkTiles(folder string, tree tlog.Tree) {
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
				refuse("record %d: the entry is not the one in the tree", n)
			}
			if n%every == 0 {
				prove(reader, tree, n, leaf)
			}
		}
	}
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
			refuse("%s ends within an entry", path)
		}
		length := int(binary.BigEndian.Uint16(data))
		read, data = append(read, data[2:2+length]), data[2+length:]
	}
	if len(data) > 0 {
		refuse("%s has bytes behind its last entry", path)
	}
	return read
}
