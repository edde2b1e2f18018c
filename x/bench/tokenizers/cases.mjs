// Tokenizers of every kind and texts for them, with what Hugging Face's own library makes of each
// text: the ids, and the texts of the ids with special tokens and without. Usage:
//
//   npm install && node cases.mjs OUT [--texts N] [--seed N] [--only NAMES] [TEXTFILE…]
//
// OUT/NAME/tokenizer.json are those of ../../../tokenizer/testdata/kinds and variations of them;
// OUT/cases.jsonl are the cases; NAMES is a regular expression for the tokenizers that are wanted. N
// texts for each (default 300) are random, made of what tokenizers find hard; of each TEXTFILE as
// many parts are taken. Then: go run . OUT
import fs from 'node:fs'
import path from 'node:path'
import { read } from './library.mjs'
import { variations } from './variations.mjs'

const args = process.argv.slice(2)
const option = (name, value) => {
  const i = args.indexOf(name)
  return i < 0 ? value : args.splice(i, 2)[1]
}
const count = Number(option('--texts', 300))
let state = Number(option('--seed', 1))
const only = new RegExp(option('--only', ''))
const [out, ...files] = args

// random is mulberry32.
function random() {
  state = (state + 0x6d2b79f5) | 0
  let t = Math.imul(state ^ (state >>> 15), 1 | state)
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296
}
const below = (n) => Math.floor(random() * n)
const pick = (list) => list[below(list.length)]

const ranges = [[0x20, 0x7e], [0x20, 0x7e], [0x61, 0x7a], [0, 0x1f], [0x7f, 0xff], [0x100, 0x24f],
  [0x250, 0x36f], [0x300, 0x36f], [0x370, 0x5ff], [0x600, 0x8ff], [0x900, 0xdff], [0xe00, 0x11ff],
  [0x1100, 0x11ff], [0x1e00, 0x1fff], [0x2000, 0x206f], [0x2070, 0x2bff], [0x2e80, 0x33ff],
  [0x3040, 0x30ff], [0x4e00, 0x9fff], [0xa000, 0xabff], [0xac00, 0xd7a3], [0xf900, 0xfb4f],
  [0xfe00, 0xffff], [0x10000, 0x10fff], [0x11000, 0x16fff], [0x1d000, 0x1d7ff], [0x1f000, 0x1faff],
  [0x20000, 0x2fa1f], [0xe0000, 0xe01ef]]
const words = ['the', ' the', ' cat', 'cat', 'Hello', ' world', "don't", " I'm", "'re", ' do not',
  '你好', '世界', '日本語', 'こんにちは', '안녕하세요', 'Привет', 'İstanbul', 'ΣΟΦΟΣ', 'straße',
  'café', 'cafe\u0301', 'naı̈ve', 'ﬁ', '①', '㍿', 'Å', '½\u0301', '™', 'e\u0301\u0323', '가',
  '\u1100\u1161\u11a8', '👨\u200d👩\u200d👧', '🇩🇪🇫', '👍🏽', '❤️', '1234', '3.14', '٣٤', 'x²',
  '  ', '   ', '\n', '\r\n', '\t', '\u00a0', '\u3000', '\u200b', '\ufeff', '\u2028', '▁', '▁▁', 'Ġ',
  '##', '##ing', '<0x41>', '!', '?!', '...', '—', '“', '”', '，', '。', '_', '-', '$', '|']

function character() {
  const [from, to] = pick(ranges)
  const c = from + below(to - from + 1)
  return c >= 0xd800 && c < 0xe000 ? '\ufffd' : String.fromCodePoint(c)
}

// text makes a text of characters, words, and the tokens of one vocabulary.
function text(tokens, added) {
  const length = 1 + below(random() < 0.1 ? 200 : 25)
  let s = ''
  for (let i = 0; i < length; i++) {
    const kind = random()
    const part = kind < 0.3 ? character() : kind < 0.6 ? pick(words)
      : kind < 0.65 && added.length > 0 ? pick(added) : kind < 0.8 ? pick(tokens) : ' '
    s += random() < 0.03 ? part.repeat(1 + below(60)) : part
  }
  return s
}

const long = files.map((f) => fs.readFileSync(f, 'utf8'))

// realText takes a part of a file.
function realText(s) {
  const from = below(Math.max(1, s.length - 400))
  return s.slice(from, from + 1 + below(400)).toWellFormed()
}

fs.mkdirSync(out, { recursive: true })
const cases = fs.openSync(path.join(out, 'cases.jsonl'), 'w')
let total = 0
for (const [name, json] of variations()) {
  if (!only.test(name)) continue
  fs.mkdirSync(path.join(out, name), { recursive: true })
  fs.writeFileSync(path.join(out, name, 'tokenizer.json'), json)
  const tokenizer = read(json)
  const tokens = Object.keys(tokenizer.getVocab(false))
  const added = JSON.parse(json).added_tokens.map((t) => t.content)
  const texts = ['', ' ']
  for (let i = 0; i < count; i++) texts.push(text(tokens, added))
  for (const s of long) for (let i = 0; i < count; i++) texts.push(realText(s))
  for (const s of texts) {
    const line = { kind: name, text: s }
    try {
      const e = await tokenizer.encode(s, null, { addSpecialTokens: false })
      line.ids = e.getIds()
      line.decoded = await tokenizer.decode(line.ids, true)
      line.kept = await tokenizer.decode(line.ids, false)
    } catch (error) {
      line.error = String(error)
    }
    fs.writeSync(cases, JSON.stringify(line) + '\n')
    total++
  }
}
console.error(`${total} cases in ${out}`)
