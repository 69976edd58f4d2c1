// Package operator is the contract between an operator and the task that runs
// it. It holds no operator.
package operator
