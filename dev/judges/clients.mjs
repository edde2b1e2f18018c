// Clients of npm against gpt serve: what each call gives, as one object, which clients.py judges.

import {createOpenAI} from '@ai-sdk/openai'
import {createOpenAICompatible} from '@ai-sdk/openai-compatible'
import {OpenAI as LangChain, OpenAIEmbeddings} from '@langchain/openai'
import {embed, generateText, jsonSchema, Output, streamText, tool} from 'ai'
import OpenAI from 'openai'

globalThis.AI_SDK_LOG_WARNINGS = false
const {url, key, p, q, asked, schema, calls} = JSON.parse(process.env.GIVEN)
const client = new OpenAI({baseURL: url, apiKey: key, maxRetries: 0})
const compatible = createOpenAICompatible(
  {name: 'gpt', baseURL: url, apiKey: key, supportsStructuredOutputs: true})
const sdk = createOpenAI({baseURL: url, apiKey: key})
const whole = {prompt: p, maxOutputTokens: asked.max_tokens, seed: asked.seed,
  temperature: asked.temperature, maxRetries: 0}
const write = (model, more) => generateText({...whole, model, ...more})
const legacy = compatible.completionModel('demo')
const chain = {model: 'demo', apiKey: key, configuration: {baseURL: url}, temperature: 0,
  maxTokens: asked.max_tokens}

async function listed(stream) {
  const parts = []
  for await (const part of stream) parts.push(part)
  return parts
}

const others = {
  'key': () => new OpenAI({baseURL: url, apiKey: 'no'}).models.list(),
  'compatible: text': async () => (await write(legacy)).text,
  'compatible: stream': async () =>
    (await listed(streamText({...whole, model: legacy}).textStream)).join(''),
  'compatible: chat': async () => (await write(compatible('demo'))).text,
  'compatible: usage': async () =>
    (({usage: u}) => [u.inputTokens, u.outputTokens])(await write(legacy)),
  'AI SDK: text': async () => (await write(sdk.completion('demo'))).text,
  'AI SDK: chat': async () => (await write(sdk.chat('demo'))).text,
  'AI SDK: chat stream': async () =>
    (await listed(streamText({...whole, model: sdk.chat('demo')}).textStream)).join(''),
  'AI SDK: a response': async () => (await write(sdk('demo'), {temperature: 0})).text ===
    (await write(sdk.chat('demo'), {temperature: 0})).text,
  'AI SDK: a response stream': async () => (await listed(streamText({...whole,
    model: sdk('demo'), temperature: 0}).textStream)).join('') ===
    (await write(sdk.chat('demo'), {temperature: 0})).text,
  'AI SDK: a tool': async () => (await write(sdk.chat('demo'), {maxOutputTokens: 200,
    tools: {Pet: tool({inputSchema: jsonSchema(schema)})},
    toolChoice: {type: 'tool', toolName: 'Pet'}})).toolCalls[0].input,
  'AI SDK: an object': async () => (await write(compatible('demo'),
    {maxOutputTokens: 200, output: Output.object({schema: jsonSchema(schema)})})).output,
  'AI SDK: embedding': async () =>
    (await embed({model: sdk.embedding('demo'), value: p})).embedding,
  'AI SDK: key': () => write(createOpenAI({baseURL: url, apiKey: 'no'}).completion('demo')),
  'LangChain: texts': async () =>
    (await new LangChain(chain).generate([p, q])).generations.map((g) => g[0].text),
  'LangChain: stream': async () => (await listed(await new LangChain(chain).stream(p))).join(''),
  'LangChain: embedding': () => new OpenAIEmbeddings(chain).embedQuery(p),
}

const failed = (e) => e.statusCode ? [e.name, e.statusCode] :
  [e.constructor.name, e.status, e.code ?? null, e.param ?? null]
const got = {calls: []}
for (const [resource, fields] of calls) {
  const at = resource.split('.').reduce((o, name) => o[name], client)
  const answer = resource === 'models' ? at.list() : at.create(fields)
  got.calls.push(await answer.then((a) => fields.stream ? listed(a) : a).catch(failed))
}
for (const [what, call] of Object.entries(others)) {
  got[what] = await call().catch(failed)
}
console.log(JSON.stringify(got))
