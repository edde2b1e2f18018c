module picogpt/bench/peers

go 1.26.0

require picogpt v0.0.0

require (
	github.com/nlpodyssey/safetensors v0.0.0-20250209183917-bfb01cc25f7c // indirect
	golang.org/x/sys v0.49.0 // indirect
)

replace picogpt => ../..
