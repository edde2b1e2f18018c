// Patterns of Split and Replace, and what Hugging Face's tokenizers library makes of texts with
// them, as lines of JSON on stdout:
//
//   npm install && node patterns.mjs >../../../tokenizer/testdata/patterns.jsonl
//
// `node patterns.mjs SEED COUNT` makes COUNT random ones instead.
import { Tokenizer } from './library.mjs'

const behaviors = ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']

// Patterns that are not regular expressions, and regular expressions that also match empty texts:
// these with each behavior.
const strings = ['', 'a', 'ab', ' ', 'é', 'a.']
const empties = ['', 'a*', '|x', 'x|', '(?=b)', '(?<=b)', '(?!a)', '(?<!a)', '\\b', '^', '$', 'a??', '(?:)']
const short = ['', 'a', 'b', 'aab', 'baab', 'é', 'ab é.b ', '\na\n']

// Regular expressions, isolated.
const regexes = String.raw`
\B
\A
\z
\Z
\G
.
(?m).
(?m:.)(?-m:.)
(?x) a b # c
(?i)A
[[:alpha:]]
[[:^alpha:]]
[[:word:]]
[[:punct:]]
[^[:punct:][:space:]]
[a-z&&[^aeiou]&&[a-m]]
[^a-z&&[aeiou]]
[a[bc]]
[]a]
[a-]
[\b\n\t ]+
a++
a?+b
a{1,2}+
a{2}?
a{,2}
a{1,
a{3,1}a
a{1}{2}
a**
(?>a+)ab
(?:a|ab)c
(|a)*
(a|)*
(?:\h++|\W?|[^a])*+
\p{Lt}
\p{Lm}
\p{Lo}
\p{Nl}
\p{^L}
\P{Lu}+
\p{Han}+
\p{Hiragana}|\p{Katakana}+
\p{Greek}
\p{Cyrl}+
\p{Titlecase_Letter}
\p{alpha}
\p{Emoji}
\pL
[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+
[^\p{L}\s]
\h
\H+
\R
\N+
\O
\x61|\x{1F600}|\u0062|\143
(?<name>a)b
(?#no)a
a(?i)b|c
(a(?i)b|c)
(?i:[^k])
(?i:\p{Lu})
(?i:[\p{Lu}])
(?i:[^\p{Lu}])
(?i:[a-c&&[^b]])
(?<=a|bc)
(?<=[a-z])(?=[A-Z])
(?<=\d)(?=(?:\d{3})+(?!\d))
(?<!\S)\S
(?=\w+')
^.+$
\s+(?!\S)
\s++$
\w+|[^\w\s]+
'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|\s+(?!\S)|\s
[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
(\[[^\]]+]|Br?|Cl?|N|O|S|P|F|I|b|c|n|o|s|p|\(|\)|\.|=|#|-|\+|\\|\/|:|~|@|\?|>>?|\*|\$|\%[0-9]{2}|[0-9])
`.trim().split('\n')
const long = [
  "Hello aaab world's  12345 it'S'll\r\n\n  ab aBc\tac\n",
  'ǅʰªº漢字ひカナ αΒγ\nMixedÉcaſe ẞK½²Ⅻ😀\u0301 ЖдC[nH+]1=O \\/pL\u0085_٣',
]

// Random ones are of these parts.
const atoms = ['a', 'b', 'A', 'é', 'K', '.', '\\w', '\\W', '\\d', '\\s', '\\S', '\\h', '\\p{L}', '\\p{Lu}',
  '\\P{L}', '\\p{N}', '\\p{Han}', '\\p{Lm}', '[ab]', '[^a]', '[a-c]', '[^\\w]', '[[:alpha:]]', '[[:punct:]]',
  '[^\\s\\p{L}]', '[a-z&&[^b]]', '[\\p{Ll}é]', '\n', ' ', "'", '1', '^', '$', '\\b', '\\B', '\\A', '\\z', '\\Z',
  '\\G', '\\R', '\\N', '-', ',', '\\.', '(?i:k)', '(?i:[a-c])', '(?i:é)', 'ſ']
const repeats = ['*', '+', '?', '*?', '+?', '??', '*+', '++', '?+', '{2}', '{1,2}', '{0,2}', '{1,}', '{,2}',
  '{2}?', '{1,2}?', '{1,2}+']
const groups = ['(?=', '(?!', '(?<=', '(?<!', '(?>', '(?i:', '(?m:', '(']
const letters = ['a', 'b', 'c', 'A', 'B', 'K', 'k', 'é', 'É', '1', '23', '²', ' ', '  ', '\n', '\r\n', '\t', "'s",
  "'", '-', ',', '.', '+', '漢', 'ひ', 'ǅ', 'ʰ', '\u0308', '\u00a0', '😀', 'Ω', 'ſ', '_', 'K', 'ª', '٣', 'x']

let state = Number(process.argv[2] ?? 0)
const random = (n) => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * n)
}
const one = (list) => list[random(list.length)]
function pattern(depth) {
  const kind = random(10)
  if (depth === 0 || kind < 4) return one(atoms)
  if (kind < 6) return pattern(depth - 1) + pattern(depth - 1)
  if (kind < 7) return `(?:${pattern(depth - 1)}|${random(8) ? pattern(depth - 1) : ''})`
  if (kind < 9) return `(?:${pattern(depth - 1)})${one(repeats)}`
  return `${one(groups)}${pattern(depth - 1)})`
}

// line asks the library; what it refuses makes no line.
function line(pattern, text, behavior, invert) {
  const split = { type: 'Split', pattern, behavior, invert }
  const replace = { type: 'Replace', pattern, content: '-' }
  let t
  try {
    t = Tokenizer({ pre_tokenizer: split, normalizer: replace })
  } catch {
    return
  }
  const parts = text && t.getPreTokenizer().preTokenizeString(text).map(([part]) => part)
  const replaced = t.getNormalizer().normalizeString(text)
  console.log(JSON.stringify({ pattern, behavior, invert, text, parts: parts || [], replaced }))
}

if (process.argv.length > 2) {
  for (let i = 0; i < Number(process.argv[3]); i++) {
    const text = Array.from({ length: random(20) }, () => one(letters)).join('')
    line({ Regex: pattern(3) }, text, one(behaviors), random(3) === 0)
  }
} else {
  for (const p of [...strings.map((s) => ({ String: s })), ...empties.map((s) => ({ Regex: s }))]) {
    for (const behavior of behaviors) {
      for (const invert of [false, true]) {
        line(p, behaviors.indexOf(behavior) ? short.join('|') : short.join(','), behavior, invert)
      }
    }
    for (const text of short) line(p, text, 'Removed', false)
  }
  for (const r of regexes) for (const text of long) line({ Regex: r }, text, 'Isolated', false)
}
