// Package nexmark generates the events of the Nexmark benchmark: an on-line
// auction house where people sign up, put up auctions, and bid.
//
//	event number   0    1 2 3    4 5 6 ... 49    50   51 52 53   54 ...
//	kind           P    A A A    B B B ... B     P    A  A  A    B   ...
//
// Of 50 events one is a person, three are auctions and 46 are bids. Every event is
// a pure function of (seed, event number): a restored or rescaled source continues
// exactly, and a checker can make any event again. The random numbers and their
// order follow a written specification, so that other implementations can make
// the same bytes.
//
// # Rules
//
//   - [Config] with zero values is the published standard: 10,000 events a second
//     of event time from 15 July 2015, in order.
//   - A [Generator] belongs to one goroutine: it caches strings. [Events] and
//     [Bids] make one per reader.
//   - The padding of an event ([Bid.Extra] and the like) costs more than all the
//     rest. Config.NoPadding leaves it empty and changes nothing else.
//   - Prices are 100 * 10^(6u) cents, u uniform. We compute the power in a few
//     multiplications; against the C library about one price in 10^8 may differ
//     by one cent.
//
// Nothing here starts a goroutine. Begin reading at generator.go.
package nexmark
