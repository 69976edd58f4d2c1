package window

// Start returns the start of the tumbling window of t: the largest number of the
// form offset + k*size that is not above t. It divides towards the past, so that
// windows before 1970 are as long as those after, and saturates at [MinMillis].
//
// REQUIRES: sizeMillis > 0.
func Start(t Millis, sizeMillis, offsetMillis int64) Millis {
	t = inTime(t)
	return t.Add(-phase(t, sizeMillis, offsetMillis))
}

// inTime moves the end of time one millisecond back. Windows have no End after
// MaxMillis, so a record of that very time belongs to the last one before it.
func inTime(t Millis) Millis { return min(t, MaxMillis-1) }

// PaneMillis returns the length of a pane: the longest stretch that every window
// contains whole or not at all. It is the size of tumbling windows and
// gcd(size, slide) of sliding ones; 0 for sessions and the end of the stream,
// which have no panes.
func (a Assigner) PaneMillis() int64 {
	if a.Kind != KindTumbling && a.Kind != KindSliding {
		return 0
	}
	return gcd(a.SizeMillis, a.SlideMillis)
}

// PanesPerWindow returns how many panes make a window; 0 where there are none.
// It is what a firing window has to merge when its aggregate has no inverse.
func (a Assigner) PanesPerWindow() int64 {
	p := a.PaneMillis()
	if p == 0 {
		return 0
	}
	return a.SizeMillis / p
}

// Pane returns the pane of t. Its Start alone identifies it. For sessions it is
// the session that t alone would make, for the end of the stream the one window.
//
// Loops over records keep PaneMillis in a variable and call [Start] with it, which
// spares the divisor.
func (a Assigner) Pane(t Millis) Window {
	t = inTime(t)
	switch a.Kind {
	case KindTumbling, KindSliding:
		p := a.PaneMillis()
		m := phase(t, p, a.OffsetMillis)
		return Window{Start: t.Add(-m), End: t.Add(p - m)}
	case KindSession:
		return Window{Start: t, End: t.Add(a.GapMillis)}
	case KindEndOfStream:
		return Window{Start: MinMillis, End: MaxMillis}
	}
	return Window{}
}

// Windows appends the windows of a record of time t to dst, oldest first, and
// returns it: one for tumbling windows, several or none for sliding ones. Given
// the start of a pane it returns the windows that contain the pane. For sessions
// it is the session that t alone would make, before merging.
func (a Assigner) Windows(dst []Window, t Millis) []Window {
	if a.Kind != KindSliding {
		return append(dst, a.Pane(t))
	}
	t = inTime(t)
	// The youngest window starts m before t, the next one slide earlier, as
	// long as t is still inside. Only distances from t are computed, all below
	// size, so that nothing overflows.
	m := phase(t, a.SlideMillis, a.OffsetMillis)
	if m >= a.SizeMillis {
		return dst // t is in a gap between windows
	}
	for back := m + (a.SizeMillis-1-m)/a.SlideMillis*a.SlideMillis; back >= m; back -= a.SlideMillis {
		dst = append(dst, Window{Start: t.Add(-back), End: t.Add(a.SizeMillis - back)})
	}
	return dst
}

// NextEnd returns the end of the window that ends first after t: when something
// has to fire next. It is [MaxMillis] for the end of the stream and for sessions,
// whose ends are known only from their records.
func (a Assigner) NextEnd(t Millis) Millis {
	if a.Kind != KindTumbling && a.Kind != KindSliding {
		return MaxMillis
	}
	ends := floorMod(a.OffsetMillis+a.SizeMillis%a.SlideMillis, a.SlideMillis)
	return t.Add(a.SlideMillis - phase(t, a.SlideMillis, ends))
}

// phase returns how far t is behind the last boundary offset + k*size.
func phase(t Millis, size, offset int64) int64 {
	// Both remainders are below size, so the difference cannot overflow, as
	// t - offset could.
	return floorMod(floorMod(int64(t), size)-floorMod(offset, size), size)
}

// floorMod returns the remainder of a division that rounds towards minus
// infinity: 0 <= floorMod(a, n) < n.
func floorMod(a, n int64) int64 {
	r := a % n
	if r < 0 {
		r += n
	}
	return r
}

// gcd returns the greatest common divisor of two positive numbers (Euclid).
func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}
