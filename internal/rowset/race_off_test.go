//go:build !race

package rowset

const raceEnabled = false
