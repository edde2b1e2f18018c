module picogpt/x/bench/tokenizers

go 1.26.0

require picogpt v0.0.0

require (
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	golang.org/x/text v0.42.0 // indirect
)

replace picogpt => ../../..
