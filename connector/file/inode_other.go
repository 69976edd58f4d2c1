//go:build !unix

package file

import "io/fs"

// inode is the number by which the file system knows a file under all its names;
// 0 when there is none. Stand-ins for a file system may offer it by a method.
func inode(info fs.FileInfo) uint64 {
	if sys, ok := info.Sys().(interface{ Inode() uint64 }); ok {
		return sys.Inode()
	}
	return 0
}
