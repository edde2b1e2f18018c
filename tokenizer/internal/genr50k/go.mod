module picogpt/tokenizer/internal/genr50k

go 1.26.0

require github.com/pkoukk/tiktoken-go-loader v0.0.2
