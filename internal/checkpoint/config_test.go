package checkpoint

import (
	"strings"
	"testing"
	"time"
)

func TestInvalidConfigurationsAreRefused(t *testing.T) {
	for want, cfg := range map[string]Config{
		"interval 1ms is too short":  {Interval: time.Millisecond},
		"interval -1s is too short":  {Interval: -time.Second},
		"timeout -1s is negative":    {Timeout: -time.Second},
		"-1s is negative":            {MinPause: -time.Second},
		"-1 concurrent":              {MaxConcurrent: -1},
		"-2 tolerable":               {TolerableFailures: -2},
		"checkpoint retention 9 is ": {Retention: 9},
	} {
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want an error with %q", err, want)
		}
	}
	if err := (Config{}).Validate(); err != nil {
		t.Errorf("the zero value must work: %v", err)
	}
}

func TestTheEffectiveConfigurationHasTheDefaultsOfTheSpecification(t *testing.T) {
	got, warnings := Config{}.Effective()
	want := Config{Timeout: 10 * time.Minute, MaxConcurrent: 1, MaxRetained: 1, IDBlock: 64}
	if got != want || warnings != nil {
		t.Errorf("got %+v, warnings %v", got, warnings)
	}
	again, _ := got.Effective()
	if again != got {
		t.Errorf("applied twice it is %+v", again)
	}
}
