module picogpt/bench/gpu

go 1.26.0
