// Package testdevice finds the GPU that tests run on: the one that $GPT_DEVICE names. It needs the
// build tag gpu, like everything that links a driver.
package testdevice
