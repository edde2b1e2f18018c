// Makes golden files of Parquet and what they hold, with writers that are not parquet-go:
// npm install apache-arrow@21.2.0 parquet-wasm@0.8.0 hyparquet-writer@0.17.0; node golden.mjs
import { writeFileSync } from 'node:fs'
import * as arrow from 'apache-arrow'
import * as wasm from 'parquet-wasm/node'
import { parquetWriteBuffer } from 'hyparquet-writer'

const n = 120
const rows = []
for (let i = 0; i < n; i++) {
  rows.push({
    text: i % 7 == 3 ? null : 'Document ' + i + ': ' + 'é日\u{1f600}"\\\n'.repeat(i % 5),
    id: 'd' + (i % 10),
    n: i - 60,
    big: (i % 2 ? 1 : -1) * (2 ** 40 + i),
    u: 4294967295 - i,
    x: i / 4 - 3.5,
    ok: i % 3 == 0,
    tags: i % 11 == 5 ? null : Array.from({ length: i % 4 }, (_, k) => (k == 2 ? null : 't' + k + i)),
    meta: i % 13 == 6 ? null : { url: 'http://x/' + i, deep: { k: i % 5 == 0 ? null : i, l: i % 3 ? [i, i + 1] : [] } },
  })
}
const T = arrow
const schema = new T.Schema([
  new T.Field('text', new T.Utf8(), true),
  new T.Field('id', new T.Utf8(), false),
  new T.Field('n', new T.Int32(), false),
  new T.Field('big', new T.Int64(), false),
  new T.Field('u', new T.Uint32(), false),
  new T.Field('x', new T.Float64(), false),
  new T.Field('ok', new T.Bool(), false),
  new T.Field('tags', new T.List(new T.Field('item', new T.Utf8(), true)), true),
  new T.Field('meta', new T.Struct([
    new T.Field('url', new T.Utf8(), false),
    new T.Field('deep', new T.Struct([
      new T.Field('k', new T.Int32(), true),
      new T.Field('l', new T.List(new T.Field('item', new T.Int32(), false)), false),
    ]), false),
  ]), true),
])
const columns = schema.fields.map((f) =>
  T.vectorFromArray(rows.map((r) => (f.name == 'big' ? BigInt(r.big) : r[f.name])), f.type))
const batch = new T.RecordBatch(schema, T.makeData({
  type: new T.Struct(schema.fields), length: n, nullCount: 0, children: columns.map((c) => c.data[0]),
}))
const ipc = T.tableToIPC(new T.Table(schema, [batch]), 'stream')
const files = [
  ['arrow-zstd', wasm.Compression.ZSTD, wasm.WriterVersion.V2, 50, true],
  ['arrow-snappy', wasm.Compression.SNAPPY, wasm.WriterVersion.V1, 1000, false],
  ['arrow-lz4', wasm.Compression.LZ4_RAW, wasm.WriterVersion.V2, 50, false],
  ['arrow-brotli', wasm.Compression.BROTLI, wasm.WriterVersion.V1, 64, true],
]
for (const [name, codec, version, group, dictionary] of files) {
  const properties = new wasm.WriterPropertiesBuilder().setCompression(codec)
    .setWriterVersion(version).setMaxRowGroupSize(group).setDictionaryEnabled(dictionary)
    .setDataPageSizeLimit(1000).build()
  writeFileSync(name + '.parquet', wasm.writeParquet(wasm.Table.fromIPCStream(ipc), properties))
}
writeFileSync('rows.jsonl', rows.map((r) => JSON.stringify(r) + '\n').join(''))

// The types of logical values, by another writer again.
const typed = [
  ['day', { type: 'INT32', converted_type: 'DATE' }, [new Date('1969-12-31'), new Date('2026-11-22')],
    ['1969-12-31', '2026-11-22']],
  ['at', { type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' },
    [new Date('1960-01-02T03:04:05.678Z'), new Date('2026-11-22T16:00:00Z')],
    ['1960-01-02T03:04:05.678Z', '2026-11-22T16:00:00Z']],
  ['price', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 4, converted_type: 'DECIMAL', scale: 2, precision: 8 },
    [-0.05, 1234.5], [-0.05, 1234.5]],
  ['key', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } },
    ['00112233-4455-6677-8899-aabbccddeeff', 'ffffffff-0000-4000-8000-000000000001'],
    ['00112233-4455-6677-8899-aabbccddeeff', 'ffffffff-0000-4000-8000-000000000001']],
  ['half', { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, logical_type: { type: 'FLOAT16' } },
    [-1.5, 65504], [-1.5, 65504]],
  ['bytes', { type: 'BYTE_ARRAY' }, [new Uint8Array([104, 105]), new Uint8Array([255, 0])],
    ['hi', { base64: '/wA=' }]],
]
const buffer = parquetWriteBuffer({
  columnData: typed.map(([name, , data]) => ({ name, data })),
  schema: [{ name: 'root', num_children: typed.length },
    ...typed.map(([name, element]) => ({ name, repetition_type: 'REQUIRED', ...element }))],
})
writeFileSync('typed.parquet', new Uint8Array(buffer))
writeFileSync('typed.jsonl', [0, 1].map((i) =>
  JSON.stringify(Object.fromEntries(typed.map(([name, , , want]) => [name, want[i]]))) + '\n').join(''))
