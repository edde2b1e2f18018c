//go:build !unix

package main

const hasWorkers = false

func work() {}
