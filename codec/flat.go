package codec

import (
	"slices"
	"unsafe"
)

// Most records are flat: numbers, booleans and strings. Their length is known
// after a look at the strings, so dst is grown once and the steps only store.

// flatStep is an op with nothing but what appendFlat needs: a record's steps
// share a cache line.
type flatStep struct {
	off  uintptr
	n    uint32 // bytes, not counting those of a string
	code opcode
}

// flatten makes the steps of appendFlat, if all of p can be done by it.
func (p *plan) flatten() {
	var steps []flatStep
	var offs []uintptr
	for _, o := range p.ops {
		switch o.code {
		case opString:
			offs = append(offs, o.off)
		case opCopy, opFixed2, opFixed4, opFixed8, opBool:
			if uint64(o.min) > 1<<31 {
				return
			}
		default:
			return
		}
		steps = append(steps, flatStep{o.off, uint32(o.min), o.code})
	}
	p.flat, p.steps, p.strings = true, steps, offs
}

// appendFlat runs a flat plan.
func (p *plan) appendFlat(dst []byte, base unsafe.Pointer) []byte {
	n := p.min
	for _, off := range p.strings {
		l := len(*(*string)(unsafe.Add(base, off)))
		if uint64(l) >= nilLength {
			panic(&EncodeError{p.pathAt(off), errTooLong})
		}
		n += l
	}
	at := len(dst)
	if cap(dst)-at < n {
		dst = slices.Grow(dst, n)
	}
	dst = dst[:at+n]
	for i := range p.steps {
		o := &p.steps[i]
		f := unsafe.Add(base, o.off)
		to := dst[at:]
		at += int(o.n)
		switch o.code {
		case opString:
			s := *(*string)(f)
			le.PutUint32(to, uint32(len(s)))
			at += copy(to[4:], s)
		case opCopy:
			copyRun(to, unsafe.Slice((*byte)(f), o.n))
		case opFixed2:
			le.PutUint16(to, *(*uint16)(f))
		case opFixed4:
			le.PutUint32(to, *(*uint32)(f))
		case opFixed8:
			le.PutUint64(to, *(*uint64)(f))
		case opBool:
			to[0] = 0
			if *(*bool)(f) {
				to[0] = 1
			}
		}
	}
	return dst
}

// copyRun copies a run of fields. Runs are short, and a few moves by words cost
// less than the call of memmove.
func copyRun(to, from []byte) {
	if len(from) > 64 {
		copy(to, from)
		return
	}
	for len(from) >= 8 && len(to) >= 8 {
		le.PutUint64(to, le.Uint64(from))
		to, from = to[8:], from[8:]
	}
	copy(to, from)
}

func (p *plan) pathAt(off uintptr) string {
	for _, o := range p.ops {
		if o.off == off && o.code == opString {
			return o.path
		}
	}
	return ""
}
