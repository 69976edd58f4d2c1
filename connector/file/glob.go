package file

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cutwater-io/cutwater/connector"
)

func checkGlob(pattern string) error {
	if pattern == "" {
		return errors.New("file source: the pattern is empty: name the files to read, for example \"data/*.txt\"")
	}
	if strings.Contains(pattern, "**") {
		return fmt.Errorf("file source: pattern %q: \"**\" is not known: write one pattern for each depth, such as \"a/*.txt\" and \"a/*/*.txt\"", pattern)
	}
	if _, err := filepath.Match(pattern, ""); err != nil {
		return fmt.Errorf("file source: pattern %q: %w", pattern, err)
	}
	return nil
}

// glob returns the files (not directories) that match a pattern, sorted by name.
// It is filepath.Glob on connector.Files, with one difference: a directory that
// cannot be read is an error and not a silent absence.
func glob(files connector.Files, pattern string) ([]string, error) {
	pattern = filepath.Clean(pattern)
	dirs, err := globDirs(files, filepath.Dir(pattern))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, d := range dirs {
		names, err := matchIn(files, d, filepath.Base(pattern), false)
		if err != nil {
			return nil, err
		}
		found = append(found, names...)
	}
	slices.Sort(found)
	return found, nil
}

// globDirs returns the directories that match a pattern.
func globDirs(files connector.Files, pattern string) ([]string, error) {
	if !strings.ContainsAny(pattern, `*?[\`) {
		return []string{pattern}, nil // may be absent: matchIn tells
	}
	parents, err := globDirs(files, filepath.Dir(pattern))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, p := range parents {
		names, err := matchIn(files, p, filepath.Base(pattern), true)
		if err != nil {
			return nil, err
		}
		found = append(found, names...)
	}
	return found, nil
}

// matchIn returns the entries of a directory that match one element of a
// pattern. An absent directory has none. Names that begin with a dot match only
// patterns that begin with one, so that staged parts are never read.
func matchIn(files connector.Files, dir, element string, wantDir bool) ([]string, error) {
	if !strings.ContainsAny(element, `*?[\`) {
		name := filepath.Join(dir, element)
		isDir, exists, err := kind(files, name)
		if err != nil || !exists || isDir != wantDir {
			return nil, err
		}
		return []string{name}, nil
	}
	entries, err := files.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("file source: list %s: %w%s", dir, err, hint(err))
	}
	var found []string
	for _, e := range entries {
		if e.Name()[0] == '.' && element[0] != '.' {
			continue
		}
		if ok, err := filepath.Match(element, e.Name()); err != nil || !ok {
			continue // the pattern was checked before
		}
		name, isDir := filepath.Join(dir, e.Name()), e.IsDir()
		if e.Type()&fs.ModeSymlink != 0 {
			var exists bool
			if isDir, exists, err = kind(files, name); err != nil {
				return nil, err
			}
			if !exists {
				continue // a link to nowhere
			}
		}
		if isDir == wantDir {
			found = append(found, name)
		}
	}
	return found, nil
}

func kind(files connector.Files, name string) (isDir, exists bool, err error) {
	info, err := files.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	if err != nil {
		return false, false, fmt.Errorf("file source: look at %s: %w%s", name, err, hint(err))
	}
	return info.IsDir(), true, nil
}
