//go:build unix

package file

import (
	"io/fs"
	"syscall"
)

// inode is the number by which the file system knows a file under all its names;
// 0 when there is none. Stand-ins for a file system may offer it by a method.
func inode(info fs.FileInfo) uint64 {
	switch sys := info.Sys().(type) {
	case *syscall.Stat_t:
		return uint64(sys.Ino)
	case interface{ Inode() uint64 }:
		return sys.Inode()
	}
	return 0
}
