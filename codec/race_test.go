//go:build race

package codec_test

// raceEnabled: under the race detector sync.Pool drops items at random.
const raceEnabled = true
