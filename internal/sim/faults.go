package main

// faultKind is a thing that goes wrong by the dice of the seed.
type faultKind uint8

const (
	loseMessage faultKind = iota
	repeatMessage
	delayMessage
	clockStep
	pauseJobMaster
	crashJobMaster
	usurpJobMaster
	crashTaskManager
	failTask
	declineAtWill
	refuseSnapshot
	failSnapshot
	failUpload
	failObject
	failLog
	unknownLog
	slowStorage
	retryCommit
	unknownCommit
	failRestore
	askCheckpoint
	askSavepoint
	cancelJob
	rescaleJob
	faultKinds
)

// faults are their names in traces and how often they happen where they can.
// Those from crashJobMaster to declineAtWill, and those a user does, are rolled
// once per chaosEvery.
var faults = [faultKinds]struct {
	name string
	rate float64
}{
	loseMessage:      {"lose-message", 0.05},
	repeatMessage:    {"repeat-message", 0.08},
	delayMessage:     {"delay-message", 0.08},
	clockStep:        {"clock-step", 0.05},
	pauseJobMaster:   {"pause-jobmaster", 0.03},
	crashJobMaster:   {"crash-jobmaster", 0.03},
	usurpJobMaster:   {"second-jobmaster", 0.015},
	crashTaskManager: {"crash-taskmanager", 0.02},
	failTask:         {"fail-task", 0.02},
	declineAtWill:    {"decline", 0.04},
	refuseSnapshot:   {"refuse-snapshot", 0.02},
	failSnapshot:     {"fail-snapshot", 0.005},
	failUpload:       {"fail-upload", 0.03},
	failObject:       {"fail-object", 0.06},
	failLog:          {"fail-log", 0.06},
	unknownLog:       {"unknown-log", 0.15},
	slowStorage:      {"slow-storage", 0.08},
	retryCommit:      {"retry-commit", 0.10},
	unknownCommit:    {"unknown-commit", 0.06},
	failRestore:      {"fail-restore", 0.05},
	askCheckpoint:    {"ask-checkpoint", 0.10},
	askSavepoint:     {"ask-savepoint", 0.07},
	cancelJob:        {"cancel-job", 0.015},
	rescaleJob:       {"rescale-job", 0.6},
}

// fault rolls the dice. The roll has a number, so that a run can be repeated with
// some of its faults left out.
func (w *world) fault(k faultKind) bool {
	if w.healed {
		return false
	}
	w.rolls++
	if w.dice.Float64() >= w.rates[k] || w.only != nil && !w.only[w.rolls] {
		return false
	}
	w.fired = append(w.fired, w.rolls)
	w.note('f', uint64(k), uint64(w.rolls))
	w.say("fault %s", faults[k].name)
	return true
}

// bug is a planted defect, by which the simulation is tested.
type bug uint8

const (
	none bug = iota
	notifyBeforeDurable
	reuseIDs
	unblockBeforePerform
	keepAbortedAck
	commitBeforeCompletion
	barrierAfterSnapshot
	restoreOlder
	forgetSplit
	openGateway
	overlapGateway
	noCommitOnRestore
	noFencing
	noBlocking
	unknownIsFailed
	commitTwice
	finishUnnamed
	deleteBeforeRemoved
	checkpointWhileFinishing
	bugs
)

var bugNames = [bugs]string{
	"none", "notify before durable", "id reuse after a crash", "unblock before perform", "ack of an aborted part kept",
	"commit before completion", "barrier after snapshot", "restore of an older checkpoint", "forgetting a split",
	"gateway stays open", "overlapping checkpoints at one gateway", "no commit after restore", "no fencing of a deposed leader",
	"no blocking", "unknown taken for failed", "commit not idempotent", "finish without its checkpoint", "objects deleted before the log entry",
	"checkpoints while tasks finish",
}
