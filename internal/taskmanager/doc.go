// Package taskmanager hosts the tasks of a job in one process: it makes their
// inboxes and channels, runs each in a goroutine, and translates between their
// mailboxes and the JobMaster's messages.
//
//	JobMaster ──Deploy, TriggerCheckpoint, …──▶ TaskManager ──mail──▶ task loop
//	JobMaster ◀──AcknowledgeCheckpoint, …────── reporter ◀─────────── task loop
//
// A message for an attempt that is not here is dropped, or refused where the
// sender must know. Wait returns when every task and its goroutines are gone.
package taskmanager
