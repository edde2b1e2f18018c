// Hugging Face's own library, with tokenizers written in a few words.
import { createRequire } from 'node:module'

const library = createRequire(import.meta.url)('tokenizers').Tokenizer

const bare = {
  version: '1.0', truncation: null, padding: null, added_tokens: [], normalizer: null,
  pre_tokenizer: null, post_processor: null, decoder: null,
  model: { type: 'WordLevel', vocab: { '<unk>': 0 }, unk_token: '<unk>' },
}

// Tokenizer makes a tokenizer of the members of a tokenizer.json; what is not given is none.
export const Tokenizer = (parts) => library.fromString(JSON.stringify({ ...bare, ...parts }))

// read makes a tokenizer of the text of a tokenizer.json.
export const read = (text) => library.fromString(text)
