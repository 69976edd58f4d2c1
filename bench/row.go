package main

import (
	"fmt"
	"io"
	"strings"
)

// row is a line of the table.
type row struct {
	Name string
	// Value is ns per record unless Unit says something else.
	Value spread
	Unit  string // "" is ns/record of processor time
	Rival string
	Ratio spread
	// Target is a bound of the ratio; 0: none, the row is a record only.
	// AtLeast says that it is a lower bound. OfValue says that it bounds the
	// value and not the ratio.
	Target  float64
	AtLeast bool
	OfValue bool
	// Skipped says why a row was not measured; it then has no numbers.
	Skipped string
	// Of is the part that was measured; "" is a whole job.
	Of string
}

// versus makes a row that compares processor time.
func versus(m measured, name, ours, rival string, target float64) row {
	return compare(name, m.cpu(ours), rival, m.cpu(rival), target)
}

func compare(name string, ours spread, rivalName string, rival spread, target float64) row {
	return row{Name: name, Value: ours, Rival: fmt.Sprintf("%s %.1f", rivalName, rival.Median), Ratio: over(ours, rival), Target: target}
}

func over(a, b spread) spread {
	if b.Median == 0 || b.Least == 0 {
		return spread{}
	}
	return spread{Median: a.Median / b.Median, Least: a.Least / b.Least}
}

// judged reports whether the row has a target, and whether it is met.
func (r *row) judged() (has, met bool) {
	if r.Skipped != "" || r.Target == 0 && !r.OfValue || !r.OfValue && r.Ratio.Median == 0 {
		return false, false
	}
	x := r.Ratio.Median
	if r.OfValue {
		x = r.Value.Median
	}
	if r.AtLeast {
		return true, x >= r.Target
	}
	return true, x <= r.Target
}

func (r *row) target() string {
	has, _ := r.judged()
	if !has {
		return "-"
	}
	op := "<="
	if r.AtLeast {
		op = ">="
	}
	if r.OfValue {
		return strings.TrimSpace(fmt.Sprintf("%s %s %s", op, number(r.Target), r.Unit))
	}
	return op + " " + number(r.Target) + "x"
}

func number(x float64) string {
	switch {
	case x != 0 && x < 0.1:
		return fmt.Sprintf("%.3f", x)
	case x < 100:
		return fmt.Sprintf("%.2f", x)
	}
	return fmt.Sprintf("%.0f", x)
}

// print writes the table.
func print(w io.Writer, rows []row) {
	lines := [][]string{{"name", "ns/record", "rival", "ratio", "target", "met"}}
	for i := range rows {
		r := &rows[i]
		name := r.Name
		if r.Of != "" {
			name += " (" + r.Of + ")"
		}
		if r.Skipped != "" {
			lines = append(lines, []string{name, r.Skipped, "", "", "", "-"})
			continue
		}
		value := number(r.Value.Median) + " (" + number(r.Value.Least) + ")"
		if r.Unit != "" {
			value += " " + r.Unit
		}
		ratio := "-"
		if r.Ratio.Median != 0 {
			ratio = number(r.Ratio.Median) + " (" + number(r.Ratio.Least) + ")"
		}
		rival := r.Rival
		if rival == "" {
			rival = "-"
		}
		met := "-"
		if has, ok := r.judged(); has {
			met = "no"
			if ok {
				met = "yes"
			}
		}
		lines = append(lines, []string{name, value, rival, ratio, r.target(), met})
	}
	var width [6]int
	for _, l := range lines {
		for i, c := range l {
			if l[0] != "" && i < 6 && (i != 1 || len(l[2]) > 0) {
				width[i] = max(width[i], len(c))
			}
		}
	}
	for _, l := range lines {
		var b strings.Builder
		for i, c := range l {
			if i > 0 {
				b.WriteString(" · ")
			}
			fmt.Fprintf(&b, "%-*s", width[i], c)
		}
		fmt.Fprintln(w, strings.TrimRight(b.String(), " "))
	}
}
