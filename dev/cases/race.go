//go:build race

package cases

const race = true
