module picogpt/x/bench/gpu

go 1.26.0
