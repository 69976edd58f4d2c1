package oracle

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Kind says how a result differs from the right answer.
type Kind int

const (
	// Lost: the answer has the cell, the files have not.
	Lost Kind = iota
	// Duplicated: the files have the cell more than once. Its first count is
	// compared too, so one cell can be duplicated and wrong.
	Duplicated
	// Wrong: the files have the cell with another count, or one that the
	// answer does not have (Want is 0).
	Wrong
	// Unreadable: a line is not a result.
	Unreadable
)

// String returns the kind in lower case.
func (k Kind) String() string {
	return [...]string{"lost", "duplicated", "wrong", "unreadable"}[k]
}

// Difference is one place where files and answer differ.
type Difference struct {
	Kind      Kind
	Cell      Cell
	Want, Got int64
	// Where is the file and line; empty for lost cells.
	Where string
}

// String returns the difference in one line.
func (d Difference) String() string {
	cell := fmt.Sprintf("auction %d, window %d", d.Cell.Auction, d.Cell.WindowStartMillis)
	switch d.Kind {
	case Lost:
		return fmt.Sprintf("%s: %s: want count %d", d.Kind, cell, d.Want)
	case Duplicated:
		return fmt.Sprintf("%s: %s: count %d again at %s", d.Kind, cell, d.Got, d.Where)
	case Unreadable:
		return fmt.Sprintf("%s: not auction,window_start_ms,count: %s", d.Kind, d.Where)
	}
	return fmt.Sprintf("%s: %s: count %d, want %d, at %s", d.Kind, cell, d.Got, d.Want, d.Where)
}

// Report is the outcome of a comparison. It is exact: all differences are
// counted, the first ones are kept.
type Report struct {
	// Cells is the number of results of the answer, Bids the sum of its counts.
	Cells, Bids int64
	// Files and Lines were read.
	Files, Lines int64
	// Lost, Duplicated, Wrong and Unreadable count differences of each kind.
	Lost, Duplicated, Wrong, Unreadable int64
	// First holds the first ten differences: those found while reading, in
	// order of file name and line, then lost cells in order of window and
	// auction.
	First []Difference
}

// Header is a first line that files may have: the names of the columns.
const Header = "auction,window_start_ms,count"

// keep is how many differences a report shows.
const keep = 10

// OK reports whether files and answer are equal.
func (r *Report) OK() bool { return r.Lost+r.Duplicated+r.Wrong+r.Unreadable == 0 }

// String returns the report for people: one line, and one for each difference
// kept.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d results in %d files: %d lost, %d duplicated, %d wrong", r.Lines, r.Files, r.Lost, r.Duplicated, r.Wrong)
	if r.Unreadable > 0 {
		fmt.Fprintf(&b, ", %d unreadable", r.Unreadable)
	}
	fmt.Fprintf(&b, " (the answer has %d results of %d bids)", r.Cells, r.Bids)
	for _, d := range r.First {
		b.WriteString("\n  " + d.String())
	}
	if more := r.Lost + r.Duplicated + r.Wrong + r.Unreadable - int64(len(r.First)); more > 0 {
		fmt.Fprintf(&b, "\n  and %d more", more)
	}
	return b.String()
}

func (r *Report) add(d Difference) {
	switch d.Kind {
	case Lost:
		r.Lost++
	case Duplicated:
		r.Duplicated++
	case Wrong:
		r.Wrong++
	case Unreadable:
		r.Unreadable++
	}
	if len(r.First) < keep {
		r.First = append(r.First, d)
	}
}

// Compare reads the committed files below dir and holds them against want. The
// error says that something could not be read; differences are in the report.
func Compare(want map[Cell]int64, dir string) (*Report, error) {
	r := &Report{Cells: int64(len(want))}
	for _, n := range want {
		r.Bids += n
	}
	seen := make(map[Cell]struct{}, len(want))
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := strings.HasPrefix(d.Name(), ".") || strings.HasPrefix(d.Name(), "_")
		switch {
		case d.IsDir() && hidden && path != dir:
			return filepath.SkipDir
		case d.IsDir() || hidden:
			return nil
		}
		r.Files++
		return r.readFile(path, want, seen)
	})
	if err != nil {
		return nil, fmt.Errorf("oracle: read the committed files of %s: %w", dir, err)
	}
	r.addLost(want, seen)
	return r, nil
}

func (r *Report) readFile(path string, want map[Cell]int64, seen map[Cell]struct{}) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // only read
	in := bufio.NewReaderSize(f, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadSlice('\n')
		if err == io.EOF && len(line) == 0 {
			return nil
		}
		if err != nil && err != io.EOF && err != bufio.ErrBufferFull {
			return err
		}
		where := func() string { return fmt.Sprintf("%s:%d", path, number) }
		if err != nil { // torn at the end of the file, or longer than any result
			r.add(Difference{Kind: Unreadable, Where: where()})
			return nil
		}
		if number == 1 && string(line[:len(line)-1]) == Header {
			continue
		}
		r.Lines++
		cell, count, ok := parse(line[:len(line)-1])
		if !ok {
			r.add(Difference{Kind: Unreadable, Where: where()})
			continue
		}
		if _, again := seen[cell]; again {
			r.add(Difference{Kind: Duplicated, Cell: cell, Want: want[cell], Got: count, Where: where()})
			continue
		}
		seen[cell] = struct{}{}
		if n, known := want[cell]; !known || n != count {
			r.add(Difference{Kind: Wrong, Cell: cell, Want: n, Got: count, Where: where()})
		}
	}
}

// addLost is apart because a map has no order and a report must have one.
func (r *Report) addLost(want map[Cell]int64, seen map[Cell]struct{}) {
	var lost []Cell
	for c := range want {
		if _, ok := seen[c]; !ok {
			lost = append(lost, c)
		}
	}
	slices.SortFunc(lost, func(a, b Cell) int {
		return cmp.Or(cmp.Compare(a.WindowStartMillis, b.WindowStartMillis), cmp.Compare(a.Auction, b.Auction))
	})
	for _, c := range lost {
		r.add(Difference{Kind: Lost, Cell: c, Want: want[c]})
	}
}

// parse reads auction,window_start_ms,count.
func parse(line []byte) (c Cell, count int64, ok bool) {
	first := bytes.IndexByte(line, ',')
	last := bytes.LastIndexByte(line, ',')
	if first < 0 || last == first {
		return c, 0, false
	}
	var err [3]error
	c.Auction, err[0] = strconv.ParseInt(string(line[:first]), 10, 64)
	c.WindowStartMillis, err[1] = strconv.ParseInt(string(line[first+1:last]), 10, 64)
	count, err[2] = strconv.ParseInt(string(line[last+1:]), 10, 64)
	return c, count, err == [3]error{}
}
