// Package tokenizer turns text into the token ids of GPT-2 class models and back.
//
// [GPT2] is GPT-2's own vocabulary, embedded in 200 KB; [Load] reads the files beside a checkpoint:
// tokenizer.json, vocab.json with merges.txt, vocab.txt or spiece.model. Vocabularies inside other
// files are for [FromParts], [FromBytes] and [Characters]. Then [Tokenizer.Encode] gives ids,
// [Tokenizer.Decode] bytes, [Tokenizer.Stream] text as ids come, never a part of a rune:
//
//	tok := tokenizer.GPT2()
//	ids, err := tok.Encode("Hello world")    // [15496 995]
//	text, err := tok.Decode(ids)             // "Hello world"
//
// [Tokenizer.EncodeSpans] and [Tokenizer.DecodeSpans] also tell which bytes of the text each id
// stands for. A [Decoder] takes one id at a time, and an [Encoder] a text in parts, in memory that
// does not grow with it, for byte-level BPE. That the bytes of a text's tokens, joined, are the text
// holds for byte-level BPE and not for every kind of vocabulary, so callers do not rely on it.
//
// # The pipeline
//
// A text goes through added tokens, found as they are written; normalizers, which rewrite what is
// between; the added tokens that are found in that; splitters, which cut it; and a model, which
// makes ids of each part. Ids go back through the steps of a decoder. [Tokenizer.EncodeSpans] tells
// which bytes of the original text an id stands for, whatever the normalizers did.
//
// Ids are those of Hugging Face's tokenizers 0.23.2, and of spiece.model those of sentencepiece
// itself. Bytes that are not valid UTF-8 are single characters without a name: unknown ones, or
// bytes where the vocabulary has them; decoding gives bytes as they are, where that library puts
// U+FFFD. [Tokenizer.ForPrompts] and [Tokenizer.JoinCJK] are for models with BERT's vocabularies.
//
// # What is promised
//
// Ids equal those of OpenAI's tiktoken for GPT-2's vocabulary and any valid UTF-8; letters and
// numbers are those of Unicode 16.0, as in tiktoken, whatever the version of Go. Any bytes, valid
// or not, come back from Decode as they were: a byte that is no part of valid UTF-8 splits a text
// as a symbol does, so next to symbols it can be in their piece, and is tokenized as itself.
// <|endoftext|> and other special tokens are ordinary text, and ids to a tokenizer of WithSpecial.
// A byte without a token and an unknown id are errors. The time is O(n log n) for any text: a
// megabyte of one letter takes 0.15 s. A long word takes no memory beside the text and its ids for
// byte-level BPE, WordPiece and Unigram, and 5 to 10 bytes of each character for other BPE.
//
// # tiktoken-go
//
// github.com/pkoukk/tiktoken-go is right on valid UTF-8 but for the 5,004 letters and numbers that
// Unicode gained after 15.0, and the tests hold this package to its ids. The work itself is done
// here, because of what was measured with tiktoken-go v0.1.8 on the same machine and day:
//
//	                             tiktoken-go        here
//	ready to encode              40–110 ms, 6 MB    2 ms, 2.7 MB
//	a megabyte of English        0.4 s              0.03 s
//	80,000 letters in one word   4.3 s, quadratic   0.01 s
//	added to a binary            2.4 MB, net/http   0.3 MB
//	invalid UTF-8                becomes U+FFFD     kept
//	unknown id in Decode         dropped            an error
//
// The whole start of a command may cost 60 ms more with text than with ids, so building its maps is
// too slow even for a prompt of one word. Its vocabulary is used: r50k.bin is made from its
// loader's ranks by internal/genr50k.
package tokenizer
