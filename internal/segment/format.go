package segment

import "hash/crc32"

// The format is drawn in doc/format/segment.md. All integers are little-endian.
const (
	headerSize = 16
	footerSize = 32

	// Version of the format that Writer writes and Reader reads.
	Version = 1

	groupRecordSize = 2 + 8 + 8 + 8 + 4
	// minStateSize is the smallest index record of a state: four lengths of
	// texts, a namespace and a number of groups.
	minStateSize = 4*4 + 8 + 4
)

var (
	headerMagic = [8]byte{'C', 'W', 'S', 'E', 'G', 'M', 'N', 'T'}
	footerMagic = [8]byte{'T', 'N', 'M', 'G', 'E', 'S', 'W', 'C'}
)

// castagnoli is CRC-32C, which processors compute at memory speed.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)
