//go:build unix

package pgtest

import (
	"os"
	"os/exec"
	"syscall"
)

// detach keeps Ctrl-C from the child: the end of its standard input tells it to
// clean up, and it must live long enough to do so.
func detach(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
