package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// benchmark makes some rows of the table.
type benchmark struct {
	name string
	rows func(rounds int, progress func(string)) ([]row, error)
}

// of makes a benchmark of a contest, which is built only when it is run: its
// tables and draws take memory.
func of(name string, build func() *contest) benchmark {
	return benchmark{name, func(rounds int, progress func(string)) ([]row, error) {
		c := build()
		m, err := c.take(rounds, progress)
		if err != nil {
			return nil, err
		}
		return c.rows(m), nil
	}}
}

// contests lists the benchmarks in the order of the table.
func contests(all bool) []benchmark {
	list := []benchmark{
		of("E2EWindow", windowContest),
		of("E2ESmallState", smallContest),
		of("E2EZipf", zipfContest),
	}
	if !all {
		return list
	}
	return list
}

// keeper keeps the rows of finished benchmarks in files, so that a long run can
// be interrupted and go on. With an empty dir it keeps nothing.
type keeper struct{ dir string }

func (k keeper) rows(name string, measure func() ([]row, error)) ([]row, error) {
	if k.dir == "" {
		return measure()
	}
	file := filepath.Join(k.dir, name+".json")
	data, err := os.ReadFile(file)
	if err == nil {
		var rows []row
		if err := json.Unmarshal(data, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w; delete it to measure %s again", file, err, name)
		}
		return rows, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	rows, err := measure()
	if err != nil {
		return nil, err
	}
	if data, err = json.MarshalIndent(rows, "", "\t"); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return nil, err
	}
	// Written aside and renamed: a half-written file would count as finished.
	if err := os.WriteFile(file+".tmp", data, 0o644); err != nil {
		return nil, err
	}
	return rows, os.Rename(file+".tmp", file)
}
