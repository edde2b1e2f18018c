// Package sample chooses a token from a row of logits: guidance, biases, penalties, the
// temperature, the filters, and one draw.
//
// Its types, in the order in which they are best read:
//
//   - [Sampler] chooses one token after another: [Sampler.Next] takes the logits after a context
//     and returns a token; [Sampler.Scores] and [Sampler.EachKept] serve searches, which choose
//     tokens themselves.
//   - [Params] are its options, each a field. Those of [Bias], [Ban], [Guidance], [DRY], [LengthDecay],
//     [Mirostat] and [Adaptive] are several numbers.
//   - [IDs] says which ids a vocabulary has, and which of them end a text.
//   - [State] is what one choice leaves to the next. A copy of it goes back.
//   - [Row] is the logits after a token, or the greatest where [Sampler.Decisive] says that they
//     are enough. [LogProb] is the score of a token, [Likeliest] the ids of the greatest logits.
//   - [Distribution] is what Next would draw from, and how many ids each step left.
//
// A step is a variable in the file of its family (topk.go, topp.go, typical.go, mirostat.go,
// penalties.go, dry.go, ...): its name, its options, when it is on, what it does. chain.go lists
// the steps and puts those that are on in order. The package knows nothing of text, sessions or
// models. Package decode does: its Stream sets the fields of a Sampler before each choice.
//
// # From logits to a token
//
// The order of operations and their definitions are Hugging Face transformers'
// (GenerationMixin.generate with do_sample=True; the class that defines each step is named), the
// arithmetic is float64 throughout:
//
//  1. Guidance (UnbatchedClassifierFreeGuidanceLogitsProcessor): see type Guidance. It sees all
//     logits, those of ids that the next step removes too.
//  2. Mask: ids that the vocabulary does not have and those that a constraint shuts are removed.
//  3. Bias (OpenAI's logit_bias): numbers are added to logits.
//  4. SequenceBias (SequenceBiasLogitsProcessor): a number is added to the logit of the last id of a
//     sequence if the context, the prompt's end included, ends with the others. A sequence of one
//     id has it always. Those of several sequences add up. BanIDs remove it in the same way
//     (NoBadWords-, SuppressTokens- and SuppressTokensAtBeginLogitsProcessor).
//  5. Repetition penalty (RepetitionPenaltyLogitsProcessor, over a window): each id among the last
//     RepeatLastN tokens of the context has its logit divided by RepeatPenalty if it is positive or
//     zero, multiplied if negative, once however often the id occurs. Then the frequency and the
//     presence penalty (OpenAI's) are subtracted.
//  6. DRY (llama.cpp): see type DRY.
//  7. No repeated n-grams (NoRepeatNGramLogitsProcessor): ids that would complete an n-gram that
//     occurred before are removed.
//  8. MinTokens (MinNewTokensLengthLogitsProcessor): the ids that end the text are removed.
//  9. LengthDecay (ExponentialDecayLengthPenalty): they become likelier.
//  10. Temperature (TemperatureLogitsWarper): logits are divided by it. Temperature 0 is greedy: the
//     largest logit after step 9 wins, the lowest id among equals, and the steps that follow do not
//     apply. With TempRange the entropy sets the temperature (llama.cpp's dynatemp).
//  11. Top-n-sigma (llama.cpp): ids whose logit is below the largest by more than TopNSigma standard
//     deviations of all logits are removed.
//  12. Top-h (TopHLogitsWarper): of the 100 likeliest ids, the likeliest stay while the sum of their
//     -p ln p is at most TopH times the entropy of the 100. At least one stays.
//  13. Top-k (TopKLogitsWarper): ids whose logit is below the k-th largest are removed. Ids equal to
//     the k-th largest all stay, so ties can keep more than k.
//  14. Top-p (TopPLogitsWarper): of the distribution that is left, ids are removed from the least
//     likely upwards while the removed mass is at most 1 - p. At least one stays. Hugging Face
//     leaves the order among equals open; here the higher id goes first.
//  15. Min-p (MinPLogitsWarper): ids whose probability is below MinP times the largest are removed.
//  16. Typical (TypicalLogitsWarper): in the order of the distance of -ln p from the entropy, ids
//     stay up to the one with which they have the mass Typical, and those at its distance. The
//     likeliest id can go.
//  17. Epsilon (EpsilonLogitsWarper): ids less likely than Epsilon are removed.
//  18. Eta (EtaLogitsWarper): ids less likely than Eta, or than sqrt(Eta) exp(-entropy) if that is
//     less, are removed.
//  19. XTC (llama.cpp, text-generation-webui): with the probability XTCProbability, of the ids that
//     are at least XTCThreshold likely all but the least likely are removed. A threshold above 0.5
//     removes nothing. The end of the text can go too.
//  20. One draw: the kept ids in ascending order share [0, 1) in proportion to their probabilities,
//     and the id whose share holds the next random number is the token.
//
// Params.Adaptive, unless Mirostat is on, changes the probabilities before the draw (llama.cpp's
// adaptive-p). With the target t and the decay d it keeps the sum s and the number n of the
// probabilities p that drawn tokens had, at first t/(1-d) and 1/(1-d): after each, s is p + d·s and
// n is 1 + d·n. The goal of a token is g = 2t - s/n, within 0 and 1, and an id of the probability q
// has the logit 5 - 10·x²/(1+x) with x = |q-g|/0.3.
//
// Params.Mirostat takes the place of all filters between the temperature and the draw (llama.cpp's
// mirostat and mirostat_v2).
//
// Each filter sees the probabilities of the ids that the filters before it left. Epsilon, eta and
// min-p never remove the likeliest id. Where beams are sampled, top-k to eta keep more ids
// ([Sampler.KeepAtLeast]): one more than there are ids that end the text.
//
// Params.Samplers "llama.cpp" selects llama.cpp's order, in which the temperature comes last:
// top-n-sigma, top-k, typical, top-p, min-p, top-h, epsilon, eta, XTC, temperature. Its definitions
// differ where ids are equal or on the edge: top-k keeps exactly k; typical ends when the mass
// exceeds Typical, and does not look at equals; min-p compares logits with the largest plus ln
// MinP. A list of names applies only the penalties, DRY, n-grams, temperature and filters that it
// names, in its order, by Hugging Face's definitions, or llama.cpp's where Hugging Face has none.
// Each step takes what the one before it left: penalties and DRY after the temperature change
// logits that are divided by it. Where a list leaves no id, the error names the steps that removed
// them.
//
// Logits must be finite: NaN or an infinity anywhere in the row is an error that names the position
// and the id.
//
// # The same text everywhere
//
// A seed is a promise: the same checkpoint, prompt, options and seed give the same tokens on every
// machine. The exponential and the logarithm are package kernels' own, and every sum runs in
// ascending order of ids. The random numbers are the top 53 bits of math/rand/v2's PCG seeded with
// (Seed, Seed), one for each token; XTC draws its own from a second stream, seeded with (Seed,
// ^Seed), one for each token.
package sample
