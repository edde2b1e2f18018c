// Package textzip compresses text with a model: the likelier a model thinks the next token, the
// fewer bits it takes. Any bytes can be compressed, and come back as they were.
//
//	c, err := checkpoint.Open("models/gpt2", checkpoint.Options{})
//	m, err := model.New(ctx, c.Config, c.Tensors, model.Options{})
//	w, err := textzip.NewWriter(ctx, file, c, m, textzip.Options{})
//	io.Copy(w, text)
//	err = w.Close()
//	r, err := textzip.NewReader(ctx, file, c, m, textzip.ReadOptions{})
//	io.Copy(out, r)
//
// A reader needs the same checkpoint in the same number format, which the file names, and finds the
// same probabilities to the last bit: on any processor and GPU, with any threads and kernels. They
// are used as whole numbers ("frequencies"), from which a range coder (Martin, 1979) writes
// −log₂(probability) bits for each token.
//
// Its types, in the order to read them:
//
//   - [Writer] compresses, with [Options]; [Reader] brings the text back, within [ReadOptions].
//   - [Header] is what a file says of itself; [Info] is what Inspect finds without a model.
//   - [MismatchError] says what of the model is other than the file's, [LimitError] which limit of a
//     reader a file is above.
//
// # Groups and streams
//
// The text is cut into groups of Options.Streams × 64 KiB; the last may be shorter. A group is cut
// into as many segments of equal length, or fewer where they would be under 4 KiB. Each is a stream:
// it is tokenized by itself, and begins with the token that begins texts. The streams of a group
// are evaluated side by side, which is what makes reading fast: a step for 8 streams takes little
// longer than one for a single stream. When a stream fills its window, the next window begins with
// the last Options.Overlap tokens. One range coder takes the first token of each stream, then the
// second of each, and so on. A group is a block of the file; where zstd makes it smaller it is
// zstd's, and where nothing does it is stored.
//
// # Format
//
// Numbers are little endian. A string is a byte of its length, then its bytes.
//
//	header	"GPTZ", the format's version (1 byte), arithmetic version, window, overlap, streams
//		(4 bytes each), digests of the model and of the tokenizer, number formats of the
//		weights and of the cache, the model's name (5 strings), check
//	block	kind (1 byte: 1 model, 2 zstd, 3 stored), bytes of the text, bytes of the payload,
//		CRC-32C of the text (4 bytes each), payload, check
//	end	kind 0, bytes of the whole text (8 bytes), check
//
// A check is the CRC-32C of all of the file before it, other checks left out. So blocks that are
// damaged, missing or in another order are found before anything is evaluated.
package textzip
