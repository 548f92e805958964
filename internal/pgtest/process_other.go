//go:build !unix

package pgtest

import (
	"os"
	"os/exec"
)

func detach(*exec.Cmd) {}

var endSignals = []os.Signal{os.Interrupt}
