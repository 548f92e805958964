//go:build race

package rowset

// raceEnabled says that the race detector's allocator is in use, which rounds
// otherwise.
const raceEnabled = true
