package run

import "testing"

func TestEachJobHasAStateDirectoryOfItsOwnAndItsNameIsOneElement(t *testing.T) {
	for name, want := range map[string]string{
		"word-count": ".cutwater/word-count",
		"a/b":        ".cutwater/a%2Fb",
		"..":         ".cutwater/%2E.",
		"two words":  ".cutwater/two+words",
	} {
		if got := (Config{}).withDefaults(name).StateDir; got != want {
			t.Errorf("state directory of job %q is %s, want %s", name, got, want)
		}
	}
	if got := (Config{StateDir: "here"}).withDefaults("word-count").StateDir; got != "here" {
		t.Errorf("a directory that was given became %s", got)
	}
}
