package realdata

import (
	"cmp"
	"iter"
	"testing"
	"time"

	"github.com/cutwater-io/cutwater/agg"
	"github.com/cutwater-io/cutwater/stream"
	"github.com/cutwater-io/cutwater/window"
)

const day = 24 * time.Hour

// counted is a key with the number of its records in a window: what top lists are
// made of.
type counted[K comparable] struct {
	Key   K
	Count int64
}

// top ranks the counts of each window over all keys. Equal counts are ordered by
// key.
func top[K comparable](counts stream.Stream[window.Result[K, int64]], n int, size time.Duration, byKey func(a, b K) int, format func(w window.Window, rank int, c counted[K]) string) stream.Stream[string] {
	return counts.
		Map(func(r window.Result[K, int64]) counted[K] { return counted[K]{r.Key, r.Value} }).
		KeyBy(one[counted[K]]).
		Window(window.Tumbling(size)).
		Aggregate(agg.TopNFunc(n, func(a, b *counted[K]) bool {
			return cmp.Or(cmp.Compare(b.Count, a.Count), byKey(a.Key, b.Key)) < 0
		}), stream.Name("top")).
		FlatMap(func(r window.Result[int, []counted[K]]) iter.Seq[string] {
			return func(yield func(string) bool) {
				for i, c := range r.Value {
					if !yield(format(r.Window, i+1, c)) {
						return
					}
				}
			}
		})
}

func requests(in *input) stream.Stream[webRequest] {
	return in.csv("web_access", webOf).EventTimeMillis((*webRequest).time, stream.BoundedOutOfOrderness(time.Minute))
}

func TestWeb1StatusHourly(t *testing.T) {
	ask(t, "web1_status_hourly", func(in *input) stream.Stream[string] {
		return rows(requests(in).
			KeyBy(func(v webRequest) int64 { return v.Status }).
			Window(window.Tumbling(time.Hour)).
			Count(stream.Name("count")),
			func(w window.Window, status, n int64) string { return row(w.Start, status, n) })
	})
}

func TestWeb2Sessions(t *testing.T) {
	ask(t, "web2_sessions", func(in *input) stream.Stream[string] {
		return rows(requests(in).
			KeyBy(func(v webRequest) int64 { return v.Client }).
			Window(window.Session(30*time.Minute)).
			Aggregate(tallied(func(v *webRequest) (a, b int64) { return v.Bytes, 0 }), stream.Name("sessions")),
			func(w window.Window, client int64, v tally) string { return row(client, w.Start, w.End, v.N, v.A) })
	})
}

func TestWeb3TopPaths(t *testing.T) {
	ask(t, "web3_top_paths", func(in *input) stream.Stream[string] {
		counts := requests(in).
			KeyBy(func(v webRequest) string { return v.Path }).
			Window(window.Tumbling(6 * time.Hour)).
			Count(stream.Name("count"))
		return top(counts, 3, 6*time.Hour, cmp.Compare[string], func(w window.Window, rank int, c counted[string]) string {
			return row(w.Start, rank, c.Key, c.Count)
		})
	})
}

func spaceCentre(in *input) stream.Stream[webRequest] {
	return in.csv("nasa_http", webOf).EventTimeMillis((*webRequest).time, stream.Ascending())
}

func TestNasa1TenMinutesWithoutWindowsForTheHole(t *testing.T) {
	ask(t, "nasa1_ten_minutes", func(in *input) stream.Stream[string] {
		failed := func(v *webRequest) (a, b int64) {
			if v.Status >= 400 {
				return v.Bytes, 1
			}
			return v.Bytes, 0
		}
		return rows(spaceCentre(in).
			KeyBy(one[webRequest]).
			Window(window.Tumbling(10*time.Minute)).
			Aggregate(tallied(failed), stream.Name("tally")),
			func(w window.Window, _ int, v tally) string { return row(w.Start, v.N, v.A, v.B) })
	})
}

func TestNasa2DistinctHosts(t *testing.T) {
	ask(t, "nasa2_distinct_hosts", func(in *input) stream.Stream[string] {
		return rows(spaceCentre(in).
			KeyBy(one[webRequest]).
			Window(window.Tumbling(time.Hour)).
			Aggregate(agg.Distinct(func(v webRequest) int64 { return v.Client }), stream.Name("distinct")),
			func(w window.Window, _ int, n int64) string { return row(w.Start, n) })
	})
}

func edits(in *input) stream.Stream[edit] {
	return in.csv("wiki_edits", editOf).EventTimeMillis((*edit).time, stream.Ascending())
}

func TestWiki1HoppingHourPerChannel(t *testing.T) {
	ask(t, "wiki1_channel_hop", func(in *input) stream.Stream[string] {
		return rows(edits(in).
			KeyBy(func(v edit) string { return v.Channel }).
			Window(window.Sliding(time.Hour, 15*time.Minute)).
			Aggregate(tallied(func(v *edit) (a, b int64) { return v.Added, 0 }), stream.Name("tally")),
			func(w window.Window, channel string, v tally) string { return row(w.Start, channel, v.N, v.A) })
	})
}

type page struct{ Channel, Page string }

func TestWiki2TopPages(t *testing.T) {
	ask(t, "wiki2_top_pages", func(in *input) stream.Stream[string] {
		counts := edits(in).
			KeyBy(func(v edit) page { return page{v.Channel, v.Page} }).
			Window(window.Tumbling(time.Hour)).
			Count(stream.Name("count"))
		byName := func(a, b page) int { return cmp.Or(cmp.Compare(a.Channel, b.Channel), cmp.Compare(a.Page, b.Page)) }
		return top(counts, 5, time.Hour, byName, func(w window.Window, rank int, c counted[page]) string {
			return row(w.Start, rank, c.Key.Channel, c.Key.Page, c.Count)
		})
	})
}

func TestWiki3UsersHourly(t *testing.T) {
	ask(t, "wiki3_users_hourly", func(in *input) stream.Stream[string] {
		users := agg.Both(agg.Distinct(func(v edit) int64 { return v.User }), agg.Count[edit]())
		return rows(edits(in).
			KeyBy(func(v edit) int64 { return v.Robot }).
			Window(window.Tumbling(time.Hour)).
			Aggregate(users, stream.Name("users")),
			func(w window.Window, robot int64, v agg.Pair[int64, int64]) string {
				return row(w.Start, robot, v.First, v.Second)
			})
	})
}

func trips(in *input) stream.Stream[trip] {
	return in.csv("taxi_trips", tripOf).EventTimeMillis((*trip).time, stream.BoundedOutOfOrderness(100*time.Minute))
}

type boroughDay struct{ Day, Borough string }

// A day of New York is not always 24 hours long, so it is part of the key, and the
// window is the whole stream.
func TestTaxi1BoroughAndLocalDay(t *testing.T) {
	ask(t, "taxi1_borough_local_day", func(in *input) stream.Stream[string] {
		return rows(trips(in).
			KeyBy(func(v trip) boroughDay { return boroughDay{v.Local[:10], v.Borough} }).
			Window(window.EndOfStream()).
			Aggregate(tallied(func(v *trip) (a, b int64) { return v.Cents, 0 }), stream.Name("tally")),
			func(_ window.Window, k boroughDay, v tally) string { return row(k.Day, k.Borough, v.N, v.A) })
	})
}

func TestTaxi2HoursAroundTheChangeOfTheClocks(t *testing.T) {
	ask(t, "taxi2_dst_hours", func(in *input) stream.Stream[string] {
		hours := agg.Both(agg.Min(func(v trip) string { return v.Local[:13] }), agg.Count[trip]())
		return rows(trips(in).
			Filter(func(v trip) bool { return v.Time >= 1552176000000 && v.Time < 1552262400000 }).
			KeyBy(one[trip]).
			Window(window.Tumbling(time.Hour)).
			Aggregate(hours, stream.Name("hours")),
			func(w window.Window, _ int, v agg.Pair[string, int64]) string { return row(w.Start, v.First, v.Second) })
	})
}

func flights(in *input) stream.Stream[flight] {
	return in.csv("flights", flightOf).EventTimeMillis((*flight).time, stream.Ascending())
}

func TestFlights1OriginSixHours(t *testing.T) {
	ask(t, "flights1_origin_six_hours", func(in *input) stream.Stream[string] {
		delays := agg.Both(tallied(func(v *flight) (a, b int64) { return v.Delay, 0 }), agg.Max(func(v flight) int64 { return v.Delay }))
		return rows(flights(in).
			KeyBy(func(v flight) string { return v.Route.Origin }).
			Window(window.Tumbling(6*time.Hour)).
			Aggregate(delays, stream.Name("delays")),
			func(w window.Window, origin string, v agg.Pair[tally, int64]) string {
				return row(w.Start, origin, v.First.N, v.First.A, v.Second)
			})
	})
}

func TestFlights2HoppingHourAtFourHubs(t *testing.T) {
	ask(t, "flights2_hop", func(in *input) stream.Stream[string] {
		hubs := map[string]bool{"ATL": true, "DFW": true, "LAX": true, "ORD": true}
		return rows(flights(in).
			Filter(func(v flight) bool { return hubs[v.Route.Origin] }).
			KeyBy(func(v flight) string { return v.Route.Origin }).
			Window(window.Sliding(time.Hour, 10*time.Minute)).
			Count(stream.Name("count")),
			func(w window.Window, origin string, n int64) string { return row(w.Start, origin, n) })
	})
}

func TestFlights3TenBusiestRoutesPerDay(t *testing.T) {
	ask(t, "flights3_routes_daily", func(in *input) stream.Stream[string] {
		counts := flights(in).
			KeyBy(func(v flight) route { return v.Route }).
			Window(window.Tumbling(day)).
			Count(stream.Name("count"))
		byName := func(a, b route) int {
			return cmp.Or(cmp.Compare(a.Origin, b.Origin), cmp.Compare(a.Destination, b.Destination))
		}
		return top(counts, 10, day, byName, func(w window.Window, rank int, c counted[route]) string {
			return row(w.Start, rank, c.Key.Origin, c.Key.Destination, c.Count)
		})
	})
}

func quakes(in *input) stream.Stream[quake] {
	return in.csv("earthquakes", quakeOf).EventTimeMillis((*quake).time, stream.BoundedOutOfOrderness(7*day))
}

func TestQuake1NetworksPerDay(t *testing.T) {
	ask(t, "quake1_net_day", func(in *input) stream.Stream[string] {
		const unknown = -1 << 62
		magnitude := func(v quake) int64 {
			if v.Measured {
				return v.Magnitude
			}
			return unknown
		}
		return rows(quakes(in).
			KeyBy(func(v quake) string { return v.Net }).
			Window(window.Tumbling(day)).
			Aggregate(agg.Both(agg.Count[quake](), agg.Max(magnitude)), stream.Name("count")),
			func(w window.Window, net string, v agg.Pair[int64, int64]) string {
				if v.Second == unknown {
					return row(w.Start, net, v.First, "")
				}
				return row(w.Start, net, v.First, v.Second)
			})
	})
}

func TestQuake2StrongestOfSixHours(t *testing.T) {
	ask(t, "quake2_strongest", func(in *input) stream.Stream[string] {
		strongest := agg.TopNFunc(1, func(a, b *quake) bool {
			return cmp.Or(cmp.Compare(b.Magnitude, a.Magnitude), cmp.Compare(a.Time, b.Time), cmp.Compare(a.ID, b.ID)) < 0
		})
		return rows(quakes(in).
			Filter(func(v quake) bool { return v.Measured }).
			KeyBy(one[quake]).
			Window(window.Tumbling(6*time.Hour)).
			Aggregate(strongest, stream.Name("strongest")),
			func(w window.Window, _ int, v []quake) string {
				return row(w.Start, v[0].ID, v[0].Time, v[0].Magnitude)
			})
	})
}

func positions(in *input) stream.Stream[position] {
	return in.csv("bus_positions", positionOf).EventTimeMillis((*position).time, stream.BoundedOutOfOrderness(30*time.Second))
}

func TestBus1Trips(t *testing.T) {
	type tripOfBus struct{ Trip, Vehicle string }
	ask(t, "bus1_trips", func(in *input) stream.Stream[string] {
		return rows(positions(in).
			KeyBy(func(v position) tripOfBus { return tripOfBus{v.Trip, v.Vehicle} }).
			Window(window.EndOfStream()).
			Aggregate(spreadOf(func(v *position) (at, value int64) { return v.Time, v.Time }), stream.Name("trips")),
			func(_ window.Window, k tripOfBus, v spread[int64]) string {
				return row(k.Trip, k.Vehicle, v.First, v.Last, v.Count)
			})
	})
}

func TestBus2Sessions(t *testing.T) {
	ask(t, "bus2_sessions", func(in *input) stream.Stream[string] {
		return rows(positions(in).
			KeyBy(func(v position) string { return v.Vehicle }).
			Window(window.Session(time.Minute)).
			Count(stream.Name("sessions")),
			func(w window.Window, vehicle string, n int64) string { return row(vehicle, w.Start, w.End, n) })
	})
}

func commits(in *input) stream.Stream[commit] {
	return in.csv("commits", commitOf).EventTimeMillis((*commit).time, stream.BoundedOutOfOrderness(235*day))
}

func TestCommits1ThirtyDays(t *testing.T) {
	ask(t, "commits1_component_30d", func(in *input) stream.Stream[string] {
		return rows(commits(in).
			KeyBy(func(v commit) string { return v.Component }).
			Window(window.Tumbling(30*day)).
			Aggregate(tallied(func(v *commit) (a, b int64) { return v.Added, v.Deleted }), stream.Name("tally")),
			func(w window.Window, component string, v tally) string { return row(w.Start, component, v.N, v.A, v.B) })
	})
}

func TestCommits2HourOnTheAuthorsClock(t *testing.T) {
	ask(t, "commits2_local_hour", func(in *input) stream.Stream[string] {
		return rows(commits(in).
			KeyBy(func(v commit) int64 { return (v.Time + v.ZoneMinutes*60_000) / 3_600_000 % 24 }).
			Window(window.EndOfStream()).
			Count(stream.Name("count")),
			func(_ window.Window, hour, n int64) string { return row(hour, n) })
	})
}

func TestCommits3SessionsOfTwentyAndMore(t *testing.T) {
	ask(t, "commits3_sessions", func(in *input) stream.Stream[string] {
		return rows(commits(in).
			KeyBy(func(v commit) string { return v.Component }).
			Window(window.Session(14*day)).
			Count(stream.Name("sessions")).
			Filter(func(r window.Result[string, int64]) bool { return r.Value >= 20 }),
			func(w window.Window, component string, n int64) string { return row(component, w.Start, w.End, n) })
	})
}

func trades(in *input) stream.Stream[trade] {
	return in.csv("trades", tradeOf).EventTimeMillis((*trade).time, stream.Ascending())
}

func TestTrades1MinuteBars(t *testing.T) {
	ask(t, "trades1_ohlc", func(in *input) stream.Stream[string] {
		bars := agg.Both(
			spreadOf(func(v *trade) (seq, price int64) { return v.Seq, v.Price }),
			tallied(func(v *trade) (shares, notional int64) { return v.Qty, v.Price * v.Qty }))
		return rows(trades(in).
			KeyBy(func(v trade) string { return v.Symbol }).
			Window(window.Tumbling(time.Minute)).
			Aggregate(bars, stream.Name("bars")),
			func(w window.Window, symbol string, v agg.Pair[spread[int64], tally]) string {
				return row(w.Start, symbol, v.First.First, v.First.Most, v.First.Least, v.First.Last, v.Second.A, v.Second.B, v.Second.N)
			})
	})
}

func TestTrades3ExchangesHop(t *testing.T) {
	ask(t, "trades3_exchange_hop", func(in *input) stream.Stream[string] {
		return rows(trades(in).
			KeyBy(func(v trade) string { return v.Exchange }).
			Window(window.Sliding(5*time.Minute, time.Minute)).
			Aggregate(tallied(func(v *trade) (a, b int64) { return v.Qty, 0 }), stream.Name("tally")),
			func(w window.Window, exchange string, v tally) string { return row(w.Start, exchange, v.A, v.N) })
	})
}

func TestRoad1SensorsPerHour(t *testing.T) {
	ask(t, "road1_sensor_hour", func(in *input) stream.Stream[string] {
		return rows(in.csv("road_sensors", sensorOf).
			EventTimeMillis((*reading).time, stream.Ascending()).
			KeyBy(func(v reading) string { return v.Sensor }).
			Window(window.Tumbling(time.Hour)).
			Aggregate(spreadOf(func(v *reading) (int64, float64) { return v.Seq, v.Value }), stream.Name("spread")),
			func(w window.Window, sensor string, v spread[float64]) string {
				return row(w.Start, sensor, v.Count, v.Least, v.Most, v.Last)
			})
	})
}

func machine(in *input) stream.Stream[reading] {
	return in.csv("machine_temperature", machineOf).EventTimeMillis((*reading).time, stream.BoundedOutOfOrderness(time.Hour))
}

func TestMachine1ReadingsPerHour(t *testing.T) {
	ask(t, "machine1_hour", func(in *input) stream.Stream[string] {
		return rows(machine(in).
			KeyBy(one[reading]).
			Window(window.Tumbling(time.Hour)).
			Aggregate(spreadOf(func(v *reading) (int64, float64) { return v.Seq, v.Value }), stream.Name("spread")),
			func(w window.Window, _ int, v spread[float64]) string { return row(w.Start, v.Count, v.Least, v.Most) })
	})
}

func TestMachine2InstantsThatOccurTwice(t *testing.T) {
	ask(t, "machine2_duplicates", func(in *input) stream.Stream[string] {
		return rows(machine(in).
			KeyBy(func(v reading) int64 { return v.Time }).
			Window(window.EndOfStream()).
			Count(stream.Name("count")).
			Filter(func(r window.Result[int64, int64]) bool { return r.Value > 1 }),
			func(_ window.Window, at, n int64) string { return row(at, n) })
	})
}
