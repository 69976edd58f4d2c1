// Package manifest describes completed checkpoints and stores them.
package manifest
