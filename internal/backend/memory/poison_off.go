//go:build !cutwater_poison

package memory

const poisoning = false
