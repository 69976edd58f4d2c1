package demo

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
)

// child is one process that runs the job.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	lines  chan string
	errs   bytes.Buffer
	status error // of Wait, valid once lines is closed
	ended  bool

	restored  uint64   // the checkpoint it started from
	sources   []uint64 // the events its sources started with
	completed uint64   // the newest checkpoint it completed
	count     int      // checkpoints it completed
}

// startChild starts the job in a process of its own, with the executable at hand.
func startChild(exe string, prefix []string, j *Job) (*child, error) {
	c := &child{cmd: exec.Command(exe, append(append([]string{}, prefix...), j.args()...)...), lines: make(chan string, 64)}
	c.cmd.Stderr = &c.errs
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the job: %w", err)
	}
	// Ends when the child does; kill and wait read it to its end.
	go func() {
		s := bufio.NewScanner(out)
		for s.Scan() {
			c.lines <- s.Text()
		}
		c.status = c.cmd.Wait()
		close(c.lines)
	}()
	return c, nil
}

// next reads the next line and remembers what it says; false when the child has
// ended.
func (c *child) next() (word string, ok bool) {
	text, ok := <-c.lines
	if !ok {
		c.ended = true
		return "", false
	}
	word, rest, _ := strings.Cut(text, " ")
	n, _ := strconv.ParseUint(rest, 10, 64)
	switch word {
	case "restoring":
		if c.restored == 0 {
			c.restored = n
		}
	case "source-at":
		c.sources = append(c.sources, n)
	case "completed":
		c.completed = n
		c.count++
	}
	return word, true
}

func (c *child) say(command string) error {
	_, err := fmt.Fprintln(c.in, command)
	return err
}

// kill sends SIGKILL and waits until the process is gone.
func (c *child) kill() {
	c.cmd.Process.Kill()
	for !c.ended {
		c.next()
	}
}

// failure says why a child that should not have ended did.
func (c *child) failure() error {
	return fmt.Errorf("the job ended by itself (%v): %s", c.status, bytes.TrimSpace(c.errs.Bytes()))
}
