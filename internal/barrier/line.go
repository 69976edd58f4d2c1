package barrier

import (
	"strconv"
	"strings"

	"github.com/cutwater-io/cutwater/internal/ident"
)

// line writes an event or action as scenario files spell it: a word and
// name=value pairs. A value of zero is left out.
type line struct{ strings.Builder }

func (l *line) word(w string) *line { l.WriteString(w); return l }

func (l *line) pair(name, value string) *line {
	l.WriteByte(' ')
	l.WriteString(name)
	l.WriteByte('=')
	l.WriteString(value)
	return l
}

func (l *line) number(name string, v int64) *line {
	if v == 0 {
		return l
	}
	return l.pair(name, strconv.FormatInt(v, 10))
}

func (l *line) channel(c ident.ChannelID) *line { return l.pair("channel", c.String()) }

func (l *line) checkpoint(id ident.CheckpointID) *line {
	return l.pair("checkpoint", strconv.FormatUint(uint64(id), 10))
}

func (l *line) reason(r Reason) *line {
	if r == ReasonNone {
		return l
	}
	return l.pair("reason", r.String())
}

func (l *line) options(o Options) *line {
	if o == 0 {
		return l
	}
	return l.pair("options", o.String())
}

func (l *line) moment(m Moment) *line {
	return l.number("nanos", m.Nanos).number("wall", m.WallMillis).number("bytes", m.InputBytes)
}
