// Package tokenizer turns text into the token ids of GPT-2 class models and back:
//
//	tok := tokenizer.GPT2()
//	ids, err := tok.Encode("Hello world")    // [15496 995]
//	text, err := tok.Decode(ids)             // "Hello world"
//
// Its types in reading order, first what GPT-2 needs:
//
//   - [Tokenizer]: a vocabulary and the pipeline from text to ids and back; [GPT2] is GPT-2's own,
//     which is embedded in 200 KB, and gpt2.go has its pattern
//   - byteLevel: GPT-2's scheme, pieces of a text as bytes that are merged into tokens
//   - merges (bpe.go): byte-pair encoding of one piece, and longPiece that of a very long one, by
//     the spelling of tokens
//   - [Encoder]: a text that arrives in parts; for byte-level BPE its memory does not grow with it
//   - [Decoder]: one id at a time; [Tokenizer.Stream] never returns a part of a rune
//   - vocabulary: tokens and merges as files have them. [Load] reads those of a checkpoint:
//     tokenizer.json, vocab.json with merges.txt, vocab.txt or spiece.model (also tokenizer.model)
//   - [Parts]: a vocabulary inside another file; so are those of [FromBytes] and [Characters]
//
// Then what other models need, as Hugging Face's tokenizers library has it:
//
//   - passage: a part of a text that knows its origin, and the bound on what rules make of it
//   - addedTokens, normalizer, splitter, decodeStep: the stages of the pipeline. internal/regex has
//     their patterns, properties.go what characters are
//   - model: charBPE, wordPiece, unigram and wordLevel, which make ids of a part of a text
//   - tokenizerFile: tokenizer.json, whose stages are in jsonparts.go and models in jsonmodel.go
//   - pieceFile: spiece.model, with sentencepiece's own rules
//
// # The pipeline
//
// A text passes through these stages: added tokens are found in it; normalizers rewrite the parts
// between them; more added tokens are found in the normalized parts; splitters divide the rest; and
// a model makes ids of each part. Ids pass back through the steps of a decoder.
// [Tokenizer.EncodeSpans] and [Tokenizer.DecodeSpans] also return the bytes of the original text
// for each id, whatever the normalizers did. In byte-level BPE, but not in every kind of
// vocabulary, the bytes of a text's tokens, joined, are the text: callers must not rely on it.
//
// Ids are those of Hugging Face's tokenizers 0.23.2 and, for spiece.model, those of sentencepiece
// itself. Bytes that are not valid UTF-8 are single characters that no table knows: unknown ones,
// or bytes if the vocabulary has them. Decoding returns such bytes unchanged, where that library
// returns U+FFFD. [Tokenizer.ForPrompts] and [Tokenizer.JoinCJK] are for models with BERT's
// vocabularies.
//
// # What is promised
//
// For GPT-2's vocabulary and valid UTF-8, ids equal those of OpenAI's tiktoken. Letters and numbers
// are those of Unicode 16.0, as in tiktoken, with any version of Go. Decode returns any bytes,
// valid or not, as they were encoded: a byte that is no part of valid UTF-8 splits a text like a
// symbol, so that it may be in one piece with symbols beside it, and its token stands for the byte
// itself. <|endoftext|> and other special tokens are ordinary text, and become ids only with
// WithSpecial. An unknown id is an error.
//
// Some vocabularies of byte-level BPE have no token for some bytes: those that were trained without
// an initial alphabet lack what the training text did not have. As in Hugging Face's library,
// Encode drops such bytes after the text is divided into pieces and before anything is merged, or
// gives the token that the file names for unknown text. [Tokenizer.Missing] lists them. Texts
// without such bytes are not affected; of others the rest comes back. Spans are still of the
// original text.
//
// What the rules of a file may make of a text is bounded: all its normalizers, splitters and
// decoders together may lengthen it by 32 times its bytes and 64 KiB, and more is an error of that
// text. The rules of Unicode make at most 11 bytes of one.
//
// The time is O(n log n) for any text: a megabyte of one letter takes 0.15 s. Besides the text and
// its ids, a long word takes no memory with byte-level BPE, WordPiece and Unigram, and 5 to 10
// bytes for each character with other BPE.
//
// # tiktoken-go
//
// On valid UTF-8, github.com/pkoukk/tiktoken-go is right except for the 5,004 letters and numbers
// that Unicode has added since 15.0, and the tests compare this package with its ids. This package
// does not use it because of these measurements of tiktoken-go v0.1.8, on the same machine and day:
//
//	                             tiktoken-go        here
//	ready to encode              40–110 ms, 6 MB    2 ms, 2.7 MB
//	a megabyte of English        0.4 s              0.03 s
//	80,000 letters in one word   4.3 s, quadratic   0.01 s
//	added to a binary            2.4 MB, net/http   0.3 MB
//	invalid UTF-8                becomes U+FFFD     kept
//	unknown id in Decode         dropped            an error
//
// A command may take at most 60 ms longer to start with text than with ids, so that building its
// maps is too slow even for a prompt of one word. Its vocabulary is used: dev/gentables
// makes r50k/r50k.bin from the ranks of its loader.
package tokenizer
