// The names of a checkpoint's files.

package folder

// What describes the model and its texts.
const (
	Config       = "config.json"            // the sizes, which GGUF's and llm.c's weights say
	Generation   = "generation_config.json" // the tokens that begin and end a text
	ChatTemplate = "chat_template.jinja"    // is copied, and not read
	HParams      = "hparams.json"           // the sizes in OpenAI's own checkpoints
)

// Weights, and the indexes of weights in several files.
const (
	Safetensors      = "model.safetensors"
	SafetensorsIndex = "model.safetensors.index.json"
	PyTorch          = "pytorch_model.bin"
	PyTorchIndex     = "pytorch_model.bin.index.json"
	NanoGPT          = "ckpt.pt"
	TensorFlow       = "checkpoint" // names the files of TensorFlow's newest checkpoint
	LLMC             = "model.bin"
)

// An adapter has a config, and one of the two files of weights.
const (
	AdapterConfig  = "adapter_config.json"
	Adapter        = "adapter_model.safetensors"
	AdapterPyTorch = "adapter_model.bin"
)

// The tokenizer is in one of these kinds of files, the first that is there.
const (
	Tokenizer     = "tokenizer.json"
	Vocab         = "vocab.json"         // with Merges
	Merges        = "merges.txt"         // with Vocab
	Encoder       = "encoder.json"       // OpenAI's name of Vocab
	VocabBPE      = "vocab.bpe"          // and of Merges
	VocabText     = "vocab.txt"          // WordPiece
	Pieces        = "spiece.model"       // sentencepiece's own file
	OtherPieces   = "tokenizer.model"    // its other name
	Characters    = "meta.pkl"           // nanoGPT's
	LLMCTokens    = "gpt2_tokenizer.bin" // llm.c's
	LLMCTokensToo = "tokenizer.bin"      // another name of it
)

// These add to a tokenizer of any kind but Tokenizer, Characters and llm.c's.
const (
	AddedTokens     = "added_tokens.json"
	SpecialTokens   = "special_tokens_map.json"
	TokenizerConfig = "tokenizer_config.json"
)
