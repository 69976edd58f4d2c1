package file

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
)

// stagingDir holds the parts that are not yet published. It begins with a dot,
// so that globs and most readers of a directory pass it by.
const stagingDir = ".staging"

// stageOwner is the front of the names of all staged files of one sink of one
// job: what a sweep may touch.
func stageOwner(job, operator, prefix string) string {
	return escapeName(job) + "~" + escapeName(operator) + "~" + escapeName(prefix) + "~"
}

// stageName is unique for ever: no two attempts of a subtask have the same
// number, and count never repeats within one. after is the checkpoint behind
// which the part was begun; it is there for people who look into the directory.
func stageName(owner string, subtask int, attempt, after uint64, count int) string {
	return fmt.Sprintf("%ss%d~a%d~c%d~%d", owner, subtask, attempt, after, count)
}

// stageSubtask returns the subtask that staged a file; ok is false for files
// of another owner.
func stageSubtask(owner, name string) (subtask int, ok bool) {
	rest, ok := strings.CutPrefix(name, owner+"s")
	if !ok {
		return 0, false
	}
	digits, _, ok := strings.Cut(rest, "~")
	if !ok {
		return 0, false
	}
	subtask, err := strconv.Atoi(digits)
	return subtask, err == nil && subtask >= 0
}

// maxEscaped keeps a staged name below 255 bytes, the limit of most file
// systems.
const maxEscaped = 60

// escapeName makes a name that is safe inside a file name and has no "~" in it:
// letters, digits, "-", "_" and "." stay, other bytes become %XX. A long one is
// cut and completed by its hash, so different names stay different.
func escapeName(s string) string {
	var b strings.Builder
	for i := range len(s) {
		c := s[i]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_' || c == '.' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	if b.Len() <= maxEscaped {
		return b.String()
	}
	h := fnv.New64a()
	h.Write([]byte(s))
	return fmt.Sprintf("%s%%%016x", b.String()[:maxEscaped-17], h.Sum64())
}
