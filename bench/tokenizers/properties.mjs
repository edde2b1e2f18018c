// What Hugging Face's tokenizers library takes each code point for, as JSON on stdout:
// {property: [[first, last], …]}. Its parts are of different versions of Unicode, so it is asked
// about every code point:
//
//   npm install && node properties.mjs >properties.json
//   go run ../../tokenizer/internal/genproperties properties.json ../../tokenizer/properties.bin
import { Tokenizer } from './library.mjs'

const normalizer = (n) => Tokenizer({ normalizer: n }).getNormalizer()
const preTokenizer = (p) => Tokenizer({ pre_tokenizer: p }).getPreTokenizer()

// ranges finds the code points for which is(character) holds.
function ranges(is) {
  const found = []
  for (let c = 0; c < 0x110000; c++) {
    if ((c >= 0xd800 && c < 0xe000) || !is(String.fromCodePoint(c))) continue
    const last = found.at(-1)
    if (last && last[1] === c - 1) last[1] = c
    else found.push([c, c])
  }
  return found
}

const off = { clean_text: false, handle_chinese_chars: false, strip_accents: false, lowercase: false }
const bert = (on) => normalizer({ type: 'BertNormalizer', ...off, [on]: true })
const dropped = (n) => ranges((c) => n.normalizeString(c) === '')
const pieces = (p, n) => ranges((c) => p.preTokenizeString(`a${c}a`).length === n)
const regex = (re) => {
  const p = preTokenizer({ type: 'Split', pattern: { Regex: re }, behavior: 'Isolated', invert: false })
  return ranges((c) => p.preTokenizeString(`\u0001${c}\u0001`).length > 1)
}

const result = {
  letter: regex('\\p{L}'), number: regex('\\p{N}'), punctuation: regex('\\p{P}'),
  mark: regex('\\p{M}'), symbol: regex('\\p{S}'), upper: regex('\\p{Lu}'), lower: regex('\\p{Ll}'),
  space: regex('\\s'), word: regex('\\w'), setWord: regex('[\\w]'), digit: regex('\\d'),
  rustWord: pieces(preTokenizer({ type: 'Whitespace' }), 1),
  numeric: pieces(preTokenizer({ type: 'Digits', individual_digits: true }), 3),
  bertPunctuation: pieces(preTokenizer({ type: 'BertPreTokenizer' }), 3),
  bertAccent: dropped(bert('strip_accents')),
  bertDropped: dropped(bert('clean_text')),
  accent: dropped(normalizer({ type: 'StripAccents' })),
}
console.log(JSON.stringify(result))
