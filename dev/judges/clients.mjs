// Clients of npm against gpt serve: what each call gives, as one object, which clients.py judges.

import {createOpenAI} from '@ai-sdk/openai'
import {createOpenAICompatible} from '@ai-sdk/openai-compatible'
import {OpenAI as LangChain, OpenAIEmbeddings} from '@langchain/openai'
import {embed, generateText, jsonSchema, Output, streamText} from 'ai'
import OpenAI from 'openai'

globalThis.AI_SDK_LOG_WARNINGS = false
const {url, key, p, q, seed, temperature, n, schema} = JSON.parse(process.env.GIVEN)
const asked = {model: 'demo', prompt: p, max_tokens: n, seed, temperature}
const said = {...asked, prompt: undefined, messages: [{role: 'user', content: p}]}
const format = {type: 'json_schema', json_schema: {name: 'pet', schema}}

const client = new OpenAI({baseURL: url, apiKey: key, maxRetries: 0})
const ask = (o) => client.completions.create({...asked, ...o})
const first = async (o) => (await ask(o)).choices[0]
const chat = (o) => client.chat.completions.create({...said, ...o})
const used = (u) => [u.prompt_tokens, u.completion_tokens]

const compatible = createOpenAICompatible({name: 'gpt', baseURL: url, apiKey: key, supportsStructuredOutputs: true})
const sdk = createOpenAI({baseURL: url, apiKey: key})
const whole = {prompt: p, maxOutputTokens: n, seed, temperature, maxRetries: 0}
const chain = {model: 'demo', apiKey: key, configuration: {baseURL: url}, temperature: 0, maxTokens: n}

// joined returns the text of a stream's parts.
async function joined(stream, text = (part) => part) {
  let all = ''
  for await (const part of stream) all += text(part) ?? ''
  return all
}

// fails returns what an error says of itself.
async function fails(call, fields) {
  try {
    await call()
  } catch (e) {
    return fields(e)
  }
  return 'no error'
}
const openaiError = (e) => [e.constructor.name, e.status, e.code, e.param]
const sdkError = (e) => [e.name, e.statusCode]

const calls = {
  'openai: text': async () => (await first()).text,
  'openai: n': async () => (await ask({n: 2})).choices.map((c) => c.text),
  'openai: usage': async () => used((await ask()).usage),
  'openai: log-probabilities': async () => (await first({logprobs: 1})).logprobs.token_logprobs,
  async 'openai: echo'() {
    const {text, logprobs} = await first({echo: true, logprobs: 1})
    return [text, logprobs.text_offset.filter((at) => at < p.length).length]
  },
  'openai: stream': async () => joined(await ask({stream: true}), (part) => part.choices[0]?.text),
  async 'openai: stream\'s usage'() {
    let usage
    for await (const part of await ask({stream: true, stream_options: {include_usage: true}})) usage = part.usage
    return used(usage)
  },
  'openai: chat': async () => (await chat()).choices[0].message.content,
  'openai: chat stream': async () => joined(await chat({stream: true}), (part) => part.choices[0].delta.content),
  'openai: a schema': async () =>
    (await chat({max_tokens: 200, response_format: format})).choices[0].message.content,
  'openai: embeddings': async () => // base64 on the wire
    (await client.embeddings.create({model: 'demo', input: [p, q]})).data.map((e) => e.embedding),
  'openai: models': async () => (await client.models.list()).data.map((m) => m.id),
  'openai: too long': () => fails(() => ask({max_tokens: 999}), openaiError),
  'openai: model': () => fails(() => ask({model: 'gpt-4'}), openaiError),
  'openai: key': () => fails(() => new OpenAI({baseURL: url, apiKey: 'no'}).models.list(), openaiError),
  'compatible: text': async () => (await generateText({...whole, model: compatible.completionModel('demo')})).text,
  'compatible: stream': () => joined(streamText({...whole, model: compatible.completionModel('demo')}).textStream),
  'compatible: chat': async () => (await generateText({...whole, model: compatible('demo')})).text,
  async 'compatible: usage'() {
    const {usage} = await generateText({...whole, model: compatible.completionModel('demo')})
    return [usage.inputTokens, usage.outputTokens]
  },
  'AI SDK: text': async () => (await generateText({...whole, model: sdk.completion('demo')})).text,
  'AI SDK: chat': async () => (await generateText({...whole, model: sdk.chat('demo')})).text,
  'AI SDK: chat stream': () => joined(streamText({...whole, model: sdk.chat('demo')}).textStream),
  'AI SDK: an object': async () => (await generateText({...whole, maxOutputTokens: 200, model: compatible('demo'),
    output: Output.object({schema: jsonSchema(schema)})})).output,
  'AI SDK: embedding': async () => (await embed({model: sdk.embedding('demo'), value: p})).embedding,
  'AI SDK: key': () => fails(() => generateText({...whole,
    model: createOpenAI({baseURL: url, apiKey: 'no'}).completion('demo')}), sdkError),
  'LangChain: texts': async () =>
    (await new LangChain(chain).generate([p, q])).generations.map((g) => g[0].text),
  'LangChain: stream': async () => joined(await new LangChain(chain).stream(p)),
  'LangChain: embedding': () => new OpenAIEmbeddings(chain).embedQuery(p),
}

const got = {}
for (const [what, call] of Object.entries(calls)) {
  got[what] = await call().catch((e) => `${e.stack}`)
}
console.log(JSON.stringify(got))
