package memory

// prefetch asks for the cache lines where the first n searches begin, and for
// the headers of their pages when most keys are new, without waiting. Go has no
// such instruction to offer; a plain load does not do, see resolveUsual.
//
//go:noescape
func prefetch(ps *places, n int, headers bool)
