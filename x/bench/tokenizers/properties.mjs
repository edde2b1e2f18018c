// What Hugging Face's tokenizers library takes each code point for, as JSON on stdout:
// {properties: {name: [[first, last], …]}, sets: {names: [[first, last], …]}}. Its parts are of
// different versions of Unicode, so it is asked about every code point:
//
//   npm install && node properties.mjs >properties.json
//   go run ../../dev/gentables properties.json ../../tokenizer
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

// set finds the code points that a regular expression of the library matches.
const all = Array.from({ length: 0x110000 }, (_, c) => c).filter((c) => c < 0xd800 || c >= 0xe000)
const text = all.map((c) => String.fromCodePoint(c)).join('')
const split = (re) =>
  preTokenizer({ type: 'Split', pattern: { Regex: `(?:${re})+` }, behavior: 'Removed', invert: false })
function set(re) {
  const found = []
  let next = 0
  for (const [, [from, to]] of [...split(re).preTokenizeString(text), ['', [all.length, 0]]]) {
    if (from > next) found.push([all[next], all[from - 1]])
    next = to
  }
  return found
}

// The names of general categories, of the sets that POSIX has too, of other properties, and of
// scripts. Names of one set stand together; those that the library does not know are left out.
const names = `
  L Letter, LC Cased_Letter, Lu Uppercase_Letter, Ll Lowercase_Letter, Lt Titlecase_Letter, Lm
  Modifier_Letter, Lo Other_Letter, M Mark Combining_Mark, Mn Nonspacing_Mark, Mc Spacing_Mark, Me
  Enclosing_Mark, N Number, Nd Decimal_Number, Nl Letter_Number, No Other_Number, P Punctuation,
  Pc Connector_Punctuation, Pd Dash_Punctuation, Ps Open_Punctuation, Pe Close_Punctuation, Pi
  Initial_Punctuation, Pf Final_Punctuation, Po Other_Punctuation, S Symbol, Sm Math_Symbol, Sc
  Currency_Symbol, Sk Modifier_Symbol, So Other_Symbol, Z Separator, Zs Space_Separator, Zl
  Line_Separator, Zp Paragraph_Separator, C Other, Cc Control, Cf Format, Cs Surrogate, Co
  Private_Use, Cn Unassigned,
  Alnum, Alpha, Blank, Cntrl, Digit, Graph, Lower, Print, Punct, Space, Upper, XDigit, Word,
  ASCII, Any, Assigned,
  Alphabetic, Uppercase, Lowercase, White_Space, Dash, Hyphen, Quotation_Mark,
  Terminal_Punctuation, Sentence_Terminal STerm, Hex_Digit, ASCII_Hex_Digit AHex, Ideographic,
  Unified_Ideograph, Diacritic, Extender, Math, Cased, Case_Ignorable,
  Default_Ignorable_Code_Point, Emoji, Emoji_Presentation, Emoji_Modifier, Emoji_Modifier_Base,
  Emoji_Component, Extended_Pictographic, Variation_Selector, Join_Control, Pattern_White_Space,
  Pattern_Syntax, Regional_Indicator, Radical, ID_Start, ID_Continue, XID_Start, XID_Continue,
  Grapheme_Extend, Grapheme_Base,
  Adlam Adlm, Ahom, Anatolian_Hieroglyphs Hluw, Arabic Arab, Armenian Armn, Avestan Avst, Balinese
  Bali, Bamum Bamu, Bassa_Vah Bass, Batak Batk, Bengali Beng, Bhaiksuki Bhks, Bopomofo Bopo,
  Brahmi Brah, Braille Brai, Buginese Bugi, Buhid Buhd, Canadian_Aboriginal Cans, Carian Cari,
  Caucasian_Albanian Aghb, Chakma Cakm, Cham, Cherokee Cher, Chorasmian Chrs, Common Zyyy, Coptic
  Copt Qaac, Cuneiform Xsux, Cypriot Cprt, Cypro_Minoan Cpmn, Cyrillic Cyrl, Deseret Dsrt,
  Devanagari Deva, Dives_Akuru Diak, Dogra Dogr, Duployan Dupl, Egyptian_Hieroglyphs Egyp, Elbasan
  Elba, Elymaic Elym, Ethiopic Ethi, Georgian Geor, Glagolitic Glag, Gothic Goth, Grantha Gran,
  Greek Grek, Gujarati Gujr, Gunjala_Gondi Gong, Gurmukhi Guru, Han Hani, Hangul Hang,
  Hanifi_Rohingya Rohg, Hanunoo Hano, Hatran Hatr, Hebrew Hebr, Hiragana Hira, Imperial_Aramaic
  Armi, Inherited Zinh Qaai, Inscriptional_Pahlavi Phli, Inscriptional_Parthian Prti, Javanese
  Java, Kaithi Kthi, Kannada Knda, Katakana Kana, Kayah_Li Kali, Kharoshthi Khar,
  Khitan_Small_Script Kits, Khmer Khmr, Khojki Khoj, Khudawadi Sind, Lao Laoo, Latin Latn, Lepcha
  Lepc, Limbu Limb, Linear_A Lina, Linear_B Linb, Lisu, Lycian Lyci, Lydian Lydi, Mahajani Mahj,
  Makasar Maka, Malayalam Mlym, Mandaic Mand, Manichaean Mani, Marchen Marc, Masaram_Gondi Gonm,
  Medefaidrin Medf, Meetei_Mayek Mtei, Mende_Kikakui Mend, Meroitic_Cursive Merc,
  Meroitic_Hieroglyphs Mero, Miao Plrd, Modi, Mongolian Mong, Mro Mroo, Multani Mult, Myanmar
  Mymr, Nabataean Nbat, Nandinagari Nand, New_Tai_Lue Talu, Newa, Nko Nkoo, Nushu Nshu,
  Nyiakeng_Puachue_Hmong Hmnp, Ogham Ogam, Ol_Chiki Olck, Old_Hungarian Hung, Old_Italic Ital,
  Old_North_Arabian Narb, Old_Permic Perm, Old_Persian Xpeo, Old_Sogdian Sogo, Old_South_Arabian
  Sarb, Old_Turkic Orkh, Old_Uyghur Ougr, Oriya Orya, Osage Osge, Osmanya Osma, Pahawh_Hmong Hmng,
  Palmyrene Palm, Pau_Cin_Hau Pauc, Phags_Pa Phag, Phoenician Phnx, Psalter_Pahlavi Phlp, Rejang
  Rjng, Runic Runr, Samaritan Samr, Saurashtra Saur, Sharada Shrd, Shavian Shaw, Siddham Sidd,
  SignWriting Sgnw, Sinhala Sinh, Sogdian Sogd, Sora_Sompeng Sora, Soyombo Soyo, Sundanese Sund,
  Syloti_Nagri Sylo, Syriac Syrc, Tagalog Tglg, Tagbanwa Tagb, Tai_Le Tale, Tai_Tham Lana,
  Tai_Viet Tavt, Takri Takr, Tamil Taml, Tangsa Tnsa, Tangut Tang, Telugu Telu, Thaana Thaa, Thai,
  Tibetan Tibt, Tifinagh Tfng, Tirhuta Tirh, Toto, Ugaritic Ugar, Vai Vaii, Vithkuqi Vith, Wancho
  Wcho, Warang_Citi Wara, Yezidi Yezi, Yi Yiii, Zanabazar_Square Zanb, Kawi, Nag_Mundari Nagm,
  Garay Gara, Gurung_Khema Gukh, Kirat_Rai Krai, Ol_Onal Onao, Sunuwar Sunu, Todhri Todr,
  Tulu_Tigalari Tutg, Beria_Erfe Berf, Sidetic Sidt, Tai_Yo Tayo, Tolong_Siki Tols, Unknown Zzzz
`

function known(name) {
  try {
    return split(`\\p{${name}}`) && true
  } catch {
    return false
  }
}

const sets = { '[word]': set('[\\w]'), '[punct]': set('[[:punct:]]') }
for (const entry of names.trim().split(/,\s*/)) {
  const same = entry.split(/\s+/).filter(known)
  if (same.length === 0) continue
  sets[same.join(' ').toLowerCase().replaceAll('_', '')] = set(`\\p{${same[0]}}`)
}

const properties = {
  space: set('\\s'),
  rustWord: pieces(preTokenizer({ type: 'Whitespace' }), 1),
  numeric: pieces(preTokenizer({ type: 'Digits', individual_digits: true }), 3),
  bertPunctuation: pieces(preTokenizer({ type: 'BertPreTokenizer' }), 3),
  bertAccent: dropped(bert('strip_accents')),
  bertDropped: dropped(bert('clean_text')),
  accent: dropped(normalizer({ type: 'StripAccents' })),
}
console.log(JSON.stringify({ properties, sets }))
