// Checks logs and proofs with Go's own sumdb/note and sumdb/tlog: code that shares nothing with
// ours. Standard input has one job a line, its words parted by tabs:
//
//	checkpoint   FILE VKEY [WITNESS…]
//	tiles        FOLDER VKEY
//	proof        FILE VKEY
//	consistency  FILE OLDER VKEY
//	proofs       FILE
//
// FOLDER holds what `x811 export --tiles` writes. The file of `proofs` has one proof a line:
// `inclusion`, index, size, leaf hash, root, path; or `consistency`, old size, new size, old root,
// new root, path; hashes in hex. Witnesses are passed over: sumdb/note knows no cosignatures.
//
// Every job is answered with a line, `ok` and what was checked, or `refused` and why.
package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

func main() {
	jobs := bufio.NewScanner(os.Stdin)
	for jobs.Scan() {
		fmt.Println(judge(strings.Split(jobs.Text(), "\t")))
	}
}

// refusal is why something does not hold. Any other panic is a fault of this program.
type refusal string

func refuse(format string, arguments ...any) {
	panic(refusal(fmt.Sprintf(format, arguments...)))
}

func must(err error, format string, arguments ...any) {
	if err != nil {
		refuse("%s: %v", fmt.Sprintf(format, arguments...), err)
	}
}

func judge(job []string) (verdict string) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case refusal:
			verdict = "refused\t" + strings.ReplaceAll(string(why), "\n", " ")
		default:
			panic(why)
		}
	}()
	return "ok\t" + check(job[0], job[1:])
}

func check(kind string, words []string) string {
	switch kind {
	case "checkpoint":
		tree := openCheckpoint(read(words[0]), words[1])
		return fmt.Sprintf("checkpoint of %d records", tree.N)
	case "tiles":
		tree := openCheckpoint(read(filepath.Join(words[0], "checkpoint")), words[1])
		checkTiles(words[0], tree)
		return fmt.Sprintf("%d entries in the tree", tree.N)
	case "proof":
		index := checkProofFile(read(words[0]), words[1])
		return fmt.Sprintf("record %d in the tree", index)
	case "consistency":
		older := openCheckpoint(read(words[1]), words[2])
		tree := checkConsistencyFile(read(words[0]), older, words[2])
		return fmt.Sprintf("%d records, then %d", older.N, tree.N)
	case "proofs":
		return fmt.Sprintf("%d proofs", checkProofs(read(words[0])))
	}
	panic("no job is called " + kind)
}

func read(file string) []byte {
	data, err := os.ReadFile(file)
	must(err, "file")
	return data
}

// openCheckpoint verifies the signed note and reads its three lines.
func openCheckpoint(signed []byte, vkey string) tlog.Tree {
	verifier, err := note.NewVerifier(vkey)
	must(err, "vkey")
	opened, err := note.Open(signed, note.VerifierList(verifier))
	must(err, "checkpoint")
	lines := strings.Split(opened.Text, "\n")
	if len(lines) != 4 || lines[3] != "" || lines[0] != verifier.Name() {
		refuse("checkpoint: not three lines of the log %s", verifier.Name())
	}
	return tlog.Tree{N: number(lines[1]), Hash: base64Hash(lines[2])}
}
