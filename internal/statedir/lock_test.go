package statedir

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets the test binary be the second process.
func TestMain(m *testing.M) {
	dir := os.Getenv("STATEDIR_TEST_HOLD")
	if dir == "" {
		os.Exit(m.Run())
	}
	if _, err := Acquire(dir); err != nil {
		fmt.Println("error:", err)
		os.Exit(1)
	}
	fmt.Println("held")
	bufio.NewReader(os.Stdin).ReadByte() // until it is killed
}

// hold starts a process that holds dir.
func hold(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), "STATEDIR_TEST_HOLD="+dir)
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Process.Kill()
		c.Wait()
		in.Close()
	})
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "held\n" {
		t.Fatalf("the other process said %q, %v", line, err)
	}
	return c
}

func TestASecondProcessIsToldWhichOneHoldsTheDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b", ".cutwater")
	other := hold(t, dir)
	_, err := Acquire(dir)
	if !errors.Is(err, ErrHeld) {
		t.Fatalf("error is %v", err)
	}
	for _, want := range []string{dir, fmt.Sprintf("by process %d (%s) on host", other.Process.Pid, os.Args[0]), "stop that process, or give this one another directory"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}

func TestTheLockIsGoneWithAKilledProcess(t *testing.T) {
	dir := t.TempDir()
	other := hold(t, dir)
	other.Process.Kill() // SIGKILL
	other.Wait()
	l, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestOneProcessCannotHoldADirectoryTwiceUntilItReleasesIt(t *testing.T) {
	dir := t.TempDir()
	l, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrHeld) {
		t.Errorf("second: %v", err)
	}
	for range 2 { // the second release does nothing
		if err := l.Release(); err != nil {
			t.Error(err)
		}
	}
	again, err := Acquire(dir)
	if err != nil {
		t.Fatalf("after the release: %v", err)
	}
	// A late second release must not free what another holds by now.
	if err := l.Release(); err != nil {
		t.Error(err)
	}
	if _, err := Acquire(dir); !errors.Is(err, ErrHeld) {
		t.Errorf("after a late release: %v", err)
	}
	if err := again.Release(); err != nil {
		t.Error(err)
	}
}

func TestAnOwnerFileWithoutALockMeansNothing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, ownerName), []byte(`{"pid":1}`), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	// And a damaged one only makes the message shorter.
	os.WriteFile(filepath.Join(dir, ownerName), []byte("{"), 0o644)
	if _, err := Acquire(dir); !errors.Is(err, ErrHeld) || !strings.Contains(err.Error(), "has not yet written its name") {
		t.Errorf("error is %v", err)
	}
	if err := l.Release(); err != nil {
		t.Error(err)
	}
}

func TestADirectoryThatCannotBeMadeIsOneClearSentence(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Acquire(filepath.Join(file, "state"))
	if err == nil || errors.Is(err, ErrHeld) || !strings.HasPrefix(err.Error(), "lock state directory "+file) {
		t.Errorf("error is %v", err)
	}
}
