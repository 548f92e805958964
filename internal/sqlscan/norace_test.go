//go:build !race

package sqlscan

const raceEnabled = false
