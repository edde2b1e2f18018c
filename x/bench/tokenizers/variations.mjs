// The tokenizers of ../../../tokenizer/testdata/kinds, and variations of them: each part in each of its
// forms.
import fs from 'node:fs'

const kinds = new URL('../../../tokenizer/testdata/kinds/', import.meta.url)

const split = (pattern, behavior, invert = false) =>
  ({ type: 'Split', pattern: typeof pattern === 'string' ? { Regex: pattern } : pattern, behavior, invert })
const sequence = (member, ...parts) => ({ type: 'Sequence', [member]: parts })
const level = (add_prefix_space, use_regex) =>
  ({ type: 'ByteLevel', add_prefix_space, trim_offsets: true, use_regex })
const bert = (clean_text, handle_chinese_chars, strip_accents, lowercase) =>
  ({ type: 'BertNormalizer', clean_text, handle_chinese_chars, strip_accents, lowercase })
const metaspace = (prepend_scheme, split) =>
  ({ type: 'Metaspace', replacement: '▁', prepend_scheme, split })
const added = (content, on = {}) => ({ content, single_word: false, lstrip: false,
  rstrip: false, normalized: false, special: false, ...on })

const normalizers = {
  nfc: { type: 'NFC' }, nfd: { type: 'NFD' }, nfkc: { type: 'NFKC' }, nfkd: { type: 'NFKD' },
  lowercase: { type: 'Lowercase' }, nmt: { type: 'Nmt' }, stripaccents: { type: 'StripAccents' },
  nfdstrip: sequence('normalizers', { type: 'NFD' }, { type: 'StripAccents' }),
  strip: { type: 'Strip', strip_left: true, strip_right: true },
  stripleft: { type: 'Strip', strip_left: true, strip_right: false },
  replace: { type: 'Replace', pattern: { String: 'a' }, content: 'bb' },
  replacespaces: { type: 'Replace', pattern: { Regex: '\\s+' }, content: ' ' },
  replacenothing: { type: 'Replace', pattern: { Regex: '[^\\w\\s]' }, content: '' },
  prepend: { type: 'Prepend', prepend: '▁' },
  bert: bert(true, true, null, true), bertclean: bert(true, false, false, false),
  bertchinese: bert(false, true, false, false), bertaccents: bert(false, false, true, false),
}
const preTokenizers = {
  whitespace: { type: 'Whitespace' }, whitespacesplit: { type: 'WhitespaceSplit' },
  bertpre: { type: 'BertPreTokenizer' }, digits: { type: 'Digits', individual_digits: false },
  digitsalone: { type: 'Digits', individual_digits: true },
  delimiter: { type: 'CharDelimiterSplit', delimiter: 'a' },
  levelprefix: level(true, true), level: level(false, true), levelwhole: level(false, false),
  digitslevel: sequence('pretokenizers', { type: 'Digits', individual_digits: true }, level(true, true)),
  leveldigits: sequence('pretokenizers', level(false, true), { type: 'Digits', individual_digits: true }),
  metafirst: metaspace('first', true), metanever: metaspace('never', true),
  metawhole: metaspace('always', false),
  splitmetafirst: sequence('pretokenizers', split('\\d', 'Isolated'), metaspace('first', true)),
}
for (const behavior of ['Removed', 'Isolated', 'MergedWithPrevious', 'MergedWithNext', 'Contiguous']) {
  preTokenizers['punctuation' + behavior] = { type: 'Punctuation', behavior }
  preTokenizers['string' + behavior] = split({ String: ' ' }, behavior)
  preTokenizers['spaces' + behavior] = split('\\s+', behavior)
  preTokenizers['inverted' + behavior] = split('\\p{L}+', behavior, true)
  preTokenizers['digit' + behavior] = split('\\d', behavior)
}
const patterns = [
  "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+",
  "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+",
  '\\w+|[^\\w\\s]+', '[a-z]+|[0-9]{2,}|.', '\\p{Lu}?\\p{Ll}*', 'x*', '(?:ab|a)(?:c|bcd)?', '[\\p{P}\\p{S}]',
  '\\p{M}+', '[^\\S\\n]+', '\\P{L}', '(t|th|the)(?=\\s)', '[\\u4e00-\\u9fff]', '\\s+$|\\S+'.slice(6),
]
patterns.forEach((p, i) => { preTokenizers['pattern' + i] = split(p, 'Isolated') })

// marked adds tokens with the ids that the library gives them, which are the next ones.
function marked(t, ...list) {
  const ids = [...Object.values(t.model.vocab), ...t.added_tokens.map((a) => a.id)]
  let next = Array.isArray(t.model.vocab) ? t.model.vocab.length : 1 + Math.max(...ids)
  for (const a of list) t.added_tokens.push({ ...a, id: next++ })
}

// variations yields names and the texts of tokenizer.json.
export function* variations() {
  const base = {}
  for (const name of fs.readdirSync(kinds).sort()) {
    const file = new URL(`${name}/tokenizer.json`, kinds)
    if (!fs.existsSync(file)) continue
    const text = fs.readFileSync(file, 'utf8')
    base[name] = JSON.parse(text)
    yield [name, text]
  }
  const vary = (name, change) => {
    const copy = structuredClone(base[name])
    change(copy)
    return JSON.stringify(copy)
  }
  for (const [part, n] of Object.entries(normalizers)) {
    yield [`normalizer-${part}`, vary('prepend-bpe-fallback', (t) => { t.normalizer = n; t.pre_tokenizer = null })]
    yield [`level-${part}`, vary('bytelevel-nfc-digits', (t) => {
      t.normalizer = n
      marked(t, added('Tag', { normalized: true }), added('éÉ', { normalized: true, special: true }))
    })]
    yield [`first-${part}`, vary('metaspace-bpe-first-fuse', (t) => { t.normalizer = n })]
  }
  for (const [part, p] of Object.entries(preTokenizers)) {
    yield [`pretokenizer-${part}`, vary('prepend-bpe-fallback', (t) => { t.normalizer = null; t.pre_tokenizer = p })]
    yield [`wordlevel-${part}`, vary('wordlevel', (t) => { t.pre_tokenizer = p })]
    yield [`bytes-${part}`, vary('bytelevel-nfc-digits', (t) => {
      t.normalizer = null
      t.pre_tokenizer = sequence('pretokenizers', p, level(false, false))
    })]
    yield [`unigram-${part}`, vary('unigram-ties-bytes', (t) => { t.pre_tokenizer = p })]
  }
  const marks = [added('<m>', { lstrip: true }), added('[r]', { rstrip: true }),
    added('Qat', { single_word: true }), added('QÉT', { normalized: true, single_word: true }),
    added('\t\t', {}), added('<m><m>', { special: true, lstrip: true, rstrip: true }),
    added('éÉ', { normalized: true, lstrip: true }), added('1Q', { normalized: true, rstrip: true })]
  for (const name of Object.keys(base)) {
    yield [`added-${name}`, vary(name, (t) => { marked(t, ...marks) })]
  }
  const model = (name, as, change) => [`model-${as}`, vary(name, (t) => change(t.model, t))]
  yield model('metaspace-bpe', 'nounk', (m) => { m.unk_token = null })
  yield model('metaspace-bpe', 'fuse', (m) => { m.fuse_unk = true })
  yield model('prepend-bpe-fallback', 'nofuse', (m) => { m.fuse_unk = false; m.byte_fallback = false })
  yield model('prepend-bpe-fallback', 'fewbytes', (m) => { m.vocab['<0xE2>-'] = m.vocab['<0xE2>']; delete m.vocab['<0xE2>'] })
  yield model('bytelevel-prefix-lower', 'merges', (m) => { m.ignore_merges = false })
  yield model('bytelevel-nfc-digits', 'whole', (m) => { m.ignore_merges = true })
  yield model('wordpiece-cased', 'short', (m) => { m.max_input_chars_per_word = 4 })
  yield model('wordpiece-cased', 'nocleanup', (m, t) => { t.decoder.cleanup = false })
  yield model('unigram-charsmap', 'onlymap', (m, t) => { t.normalizer = t.normalizer.normalizers[0] })
  yield model('unigram', 'bytes', (m) => { m.byte_fallback = true })
  // Affixes, as BPE of before byte-level vocabularies has them.
  const letters = [...'abcdeht']
  const vocab = {}
  for (const l of letters) for (const v of [l, `##${l}`, `${l}</w>`, `##${l}</w>`]) vocab[v] = Object.keys(vocab).length
  for (const v of ['th', 'the</w>', '##at</w>', '##ab', 'a b']) vocab[v] = Object.keys(vocab).length
  const merges = [['t', '##h'], ['th', '##e</w>'], ['##a', '##t</w>'], ['##a', '##b']]
  const affixes = (unk) => ({ type: 'BPE', dropout: null, unk_token: unk, continuing_subword_prefix: '##',
    end_of_word_suffix: '</w>', fuse_unk: false, byte_fallback: false, ignore_merges: false, vocab, merges })
  for (const unk of [null, 'a']) {
    yield [`affixes-${unk}`, JSON.stringify({ ...base.wordlevel, added_tokens: [],
      decoder: { type: 'BPEDecoder', suffix: '</w>' }, model: affixes(unk) })]
  }
  // Vocabularies that lack the tokens of some bytes, and all that is made of them.
  const lacking = (name, as, gone, change) => [`lacking-${as}`, vary(name, (t) => {
    const m = t.model
    const marks = t.added_tokens.map((a) => a.content)
    const lost = (text) => !marks.includes(text) && [...text].some((c) => gone.includes(c))
    m.vocab = Object.fromEntries(Object.entries(m.vocab).filter(([text]) => !lost(text)))
    m.merges = m.merges.filter(([left, right]) => !lost(left + right))
    t.added_tokens = t.added_tokens.filter((a) => a.content in m.vocab)
    change(m, t)
  })]
  const unknown = (m, t, fuse) => {
    marked(t, added('[UNK]', { special: true }))
    m.vocab['[UNK]'] = t.added_tokens.at(-1).id
    Object.assign(m, { unk_token: '[UNK]', fuse_unk: fuse })
  }
  const latin = '<*tÃĉİÂđ€ģÀÁõö', most = 'eÎâãä0123456789ĀāĂăĄąĆć'
  yield lacking('bytelevel-split-noregex', 'dropped', latin + most, (m) => { m.ignore_merges = false })
  yield lacking('bytelevel-nfc-digits', 'level', latin, (m, t) => {
    Object.assign(t, { normalizer: null, pre_tokenizer: level(false, true) })
    m.ignore_merges = false
  })
  yield lacking('bytelevel-nfc-digits', 'space', 'Ġ' + most, (m, t) => {
    Object.assign(t, { normalizer: null, pre_tokenizer: level(true, true) })
    m.ignore_merges = false
  })
  yield lacking('bytelevel-prefix-lower', 'whole', latin, () => {})
  yield lacking('bytelevel-nfc-digits', 'unknown', latin + most, (m, t) => unknown(m, t, false))
  yield lacking('bytelevel-nfc-digits', 'fused', latin + most, (m, t) => unknown(m, t, true))
  yield lacking('bytelevel-nfc-digits', 'nounknown', latin, (m) => { m.unk_token = '[NONE]' })
  yield ['decoder-null', vary('bytelevel-nfc-digits', (t) => { t.model.ignore_merges = true; t.decoder = null })]
  yield ['decoder-strip', vary('metaspace-bpe', (t) => { t.decoder = sequence('decoders',
    { type: 'Replace', pattern: { Regex: '▁+' }, content: ' ' }, { type: 'Strip', content: ' ', start: 1, stop: 0 }) })]
  yield ['decoder-never', vary('metaspace-bpe', (t) => { t.decoder = metaspace('never', true) })]
}
