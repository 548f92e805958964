//go:build race

package sqlscan

const raceEnabled = true
