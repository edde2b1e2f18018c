// Other people's clients against gpt serve: each gets the text that gpt writes.

import assert from 'node:assert/strict'
import {execFileSync, spawn} from 'node:child_process'
import {createInterface} from 'node:readline'

import {createOpenAICompatible} from '@ai-sdk/openai-compatible'
import {OpenAI as LangChain, OpenAIEmbeddings} from '@langchain/openai'
import {generateText, streamText} from 'ai'
import OpenAI from 'openai'

const gpt = process.argv[2]
const key = 'a-key'

// started starts a server, and returns its address when it listens.
async function started() {
  const child = spawn(gpt, ['serve', '--addr', '127.0.0.1:0', '--log', 'off', '--template', 'dialogpt'],
    {env: {...process.env, GPT_API_KEY: key}, stdio: ['ignore', 'ignore', 'pipe']})
  for await (const line of createInterface({input: child.stderr})) {
    const at = line.match(/^gpt: listening on (.*)$/)
    assert(at, `first line ${line}`)
    return {child, url: at[1]}
  }
  throw new Error('gpt serve did not start')
}

const prompt = 'Once upon a time'
const write = (...args) => execFileSync(gpt, ['--special', '--no-display-prompt', '--top-k', '0', '-n', '20',
  '--output', 'json', ...args, prompt]).toString()
const text = (...args) => JSON.parse(write(...args)).text

const {child, url} = await started()
const tests = {
  async 'openai: text, choices, log-probabilities'() {
    const client = new OpenAI({baseURL: `${url}/v1`, apiKey: key})
    const a = await client.completions.create({model: 'demo', prompt, max_tokens: 20, seed: 7, n: 2,
      temperature: 0.9, logprobs: 2, stop: null, logit_bias: {}})
    assert.equal(a.choices[0].text, text('--temp', '0.9', '--seed', '7'))
    assert.equal(a.choices[1].text, text('--temp', '0.9', '--seed', '8'))
    assert.equal(a.choices[0].logprobs.tokens.length, 20)
    assert(a._request_id)
  },
  async 'openai: a stream with usage'() {
    const client = new OpenAI({baseURL: `${url}/v1`, apiKey: key})
    const stream = await client.completions.create({model: 'demo', prompt, max_tokens: 20, seed: 7,
      temperature: 1, stream: true, stream_options: {include_usage: true}})
    let all = '', usage = null
    for await (const part of stream) {
      all += part.choices[0]?.text ?? ''
      usage = part.usage ?? usage
    }
    assert.equal(all, text('--temp', '1', '--seed', '7'))
    assert.equal(usage.completion_tokens, 20)
  },
  async 'openai: scoring, as lm-evaluation-harness asks for it'() {
    const client = new OpenAI({baseURL: `${url}/v1`, apiKey: key})
    const a = await client.completions.create({model: 'demo', prompt: [[7454, 2402, 257, 640]], max_tokens: 1,
      temperature: 0, logprobs: 1, seed: 1234, echo: true})
    const l = a.choices[0].logprobs
    const want = execFileSync(gpt, ['score'], {input: JSON.stringify({text: prompt}) + '\n'}).toString()
    const scored = JSON.parse(want).sum_logprob
    const sum = l.token_logprobs.slice(1, -1).reduce((x, y) => x + y, 0)
    assert.equal(l.tokens.length, 5)
    assert.equal(sum, scored)
    for (let i = 1; i < 5; i++) {
      assert(Object.values(l.top_logprobs[i]).includes(l.token_logprobs[i]))
    }
  },
  async 'openai: errors, models, embeddings, a conversation'() {
    const client = new OpenAI({baseURL: `${url}/v1`, apiKey: key})
    await assert.rejects(client.completions.create({model: 'demo', prompt, max_tokens: 9999}),
      (e) => e.status === 400 && e.code === 'context_length_exceeded' && e.param === 'max_tokens')
    await assert.rejects(client.completions.create({model: 'gpt-4', prompt}),
      (e) => e instanceof OpenAI.NotFoundError)
    await assert.rejects(new OpenAI({baseURL: `${url}/v1`, apiKey: 'no'}).models.list(),
      (e) => e instanceof OpenAI.AuthenticationError)
    assert.equal((await client.models.list()).data[0].id, 'demo')
    const e = await client.embeddings.create({model: 'demo', input: ['a cat', 'a dog']}) // base64 on the wire
    const length = e.data[1].embedding.reduce((s, x) => s + x * x, 0)
    assert(Math.abs(length - 1) < 1e-6, `length ${length}`)
    const c = await client.chat.completions.create({model: 'demo', max_tokens: 5,
      messages: [{role: 'user', content: 'Hello'}]})
    assert.equal(c.choices[0].message.role, 'assistant')
  },
  async 'AI SDK: text and stream'() {
    const provider = createOpenAICompatible({name: 'gpt', baseURL: `${url}/v1`, apiKey: key})
    const o = {model: provider.completionModel('demo'), prompt, maxOutputTokens: 5, temperature: 0}
    const {text: whole} = await generateText(o)
    let parts = ''
    for await (const part of streamText(o).textStream) parts += part
    assert.equal(parts, whole)
    assert(whole.length > 0)
  },
  async 'LangChain: many prompts, a stream, embeddings'() {
    const o = {model: 'demo', apiKey: key, configuration: {baseURL: `${url}/v1`}}
    const model = new LangChain({...o, maxTokens: 20, temperature: 0, batchSize: 20})
    const a = await model.generate([prompt, 'Tom', prompt])
    assert.equal(a.generations[0][0].text, text('--temp', '0'))
    assert.equal(a.generations[2][0].text, a.generations[0][0].text)
    assert.notEqual(a.generations[1][0].text, a.generations[0][0].text)
    let parts = ''
    for await (const part of await model.stream(prompt)) parts += part
    assert.equal(parts, a.generations[0][0].text)
    const v = await new OpenAIEmbeddings(o).embedQuery('a cat')
    assert(v.length > 100)
  },
}

let failed = 0
for (const [name, test] of Object.entries(tests)) {
  try {
    await test()
    console.log(`ok    ${name}`)
  } catch (e) {
    failed++
    console.log(`FAIL  ${name}: ${e.stack}`)
  }
}
child.kill('SIGTERM')
const status = await new Promise((resolve) => child.on('exit', resolve))
assert.equal(status, 0, 'exit status after SIGTERM')
process.exit(failed ? 1 : 0)
