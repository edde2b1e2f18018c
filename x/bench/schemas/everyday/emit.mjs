// Writes JSON Schemas as zod 4, OpenAI's zodResponseFormat and typebox emit them, one {"name",
// "schema","valid"} a line: npm i && node emit.mjs >everyday.jsonl && python3 emit.py >>everyday.jsonl
import { z } from "zod";
import { zodResponseFormat } from "openai/helpers/zod";
import { Type } from "@sinclair/typebox";

const uuid = "2f1d9c9a-8f0b-4c3e-9a57-0d6a5f3b1c11";
const tags = ["a", "b"];
// name: [schema, valid instances]
const strings = {
  email: [z.email(), ["ann@example.com"]],
  url: [z.url(), ["https://example.com/a?b=c#d"]],
  httpUrl: [z.httpUrl(), ["https://example.com/a"]],
  hostname: [z.hostname(), ["www.example.com"]],
  uuid: [z.uuid(), [uuid]],
  uuidv4: [z.uuidv4(), [uuid]],
  guid: [z.guid(), [uuid]],
  date: [z.iso.date(), ["2024-02-29"]],
  time: [z.iso.time(), ["12:30:00"]],
  datetime: [z.iso.datetime(), ["2024-02-29T12:30:00Z"]],
  datetimeOffset: [z.iso.datetime({ offset: true }), ["2024-02-29T12:30:00+02:00"]],
  duration: [z.iso.duration(), ["P3DT4H", "PT5M"]],
  ipv4: [z.ipv4(), ["10.0.0.1"]],
  ipv6: [z.ipv6(), ["2001:db8::1"]],
  cidrv4: [z.cidrv4(), ["10.0.0.0/8"]],
  cidrv6: [z.cidrv6(), ["2001:db8::/32"]],
  base64: [z.base64(), ["aGVsbG8="]],
  base64url: [z.base64url(), ["aGVsbG8"]],
  jwt: [z.jwt(), ["eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.abc"]],
  e164: [z.e164(), ["+4915112345678"]],
  cuid: [z.cuid(), ["cjld2cjxh0000qzrmn831i7rn"]],
  cuid2: [z.cuid2(), ["tz4a98xxat96iws9zmbrgj3a"]],
  ulid: [z.ulid(), ["01ARZ3NDEKTSV4RRFFQ69G5FAV"]],
  nanoid: [z.nanoid(), ["V1StGXR8_Z5jdHi6B-myT"]],
  emoji: [z.emoji(), ["😀"]],
  startsWith: [z.string().startsWith("sk-"), ["sk-1"]],
  endsWith: [z.string().endsWith(".png"), ["a.png"]],
  includes: [z.string().includes("@"), ["a@b"]],
  prefixAndLength: [z.string().startsWith("id_").min(5).max(20), ["id_12345"]],
  regex: [z.string().regex(/^[A-Z]{2}-\d{4}$/), ["AB-1234"]],
  slug: [z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/), ["a-b"]],
  lowercase: [z.string().lowercase(), ["abc"]],
  trimmed: [z.string().trim().min(1), ["x"]],
  template: [z.templateLiteral(["user-", z.number()]), ["user-12"]],
};
const numbers = {
  int: [z.int(), [3]],
  int32: [z.int32(), [3]],
  uint32: [z.uint32(), [3]],
  float32: [z.float32(), [1.5]],
  float64: [z.float64(), [1.5]],
  positive: [z.number().positive(), [1.5]],
  nonnegativeInt: [z.number().int().nonnegative(), [0]],
  price: [z.number().positive().multipleOf(0.01), [19.99]],
  percent: [z.number().min(0).max(100), [55.5]],
  half: [z.number().multipleOf(0.5).min(0).max(5), [4.5]],
  below: [z.number().lt(10).gt(0), [3]],
  evens: [z.number().int().multipleOf(2), [4]],
};
const shapes = {
  tuple: [z.tuple([z.string(), z.number()]), [["a", 1]]],
  tupleRest: [z.tuple([z.string()], z.number()), [["a", 1, 2]]],
  record: [z.record(z.string(), z.number()), [{ a: 1 }]],
  recordPattern: [z.record(z.string().regex(/^[a-z]+$/), z.number()), [{ ab: 1 }]],
  recordEnum: [z.record(z.enum(["x", "y"]), z.boolean()), [{ x: true, y: false }]],
  partialRecord: [z.partialRecord(z.enum(["x", "y"]), z.boolean()), [{ x: true }]],
  recordUuid: [z.record(z.uuid(), z.string()), [{ [uuid]: "a" }]],
  set: [z.array(z.enum(["r", "g", "b"])).min(1).max(3), [["r", "g"]]],
  union: [z.union([z.string(), z.number(), z.null()]), ["a", 1, null]],
  discriminated: [z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("circle"), r: z.number().positive() }),
    z.object({ kind: z.literal("box"), w: z.number(), h: z.number() })]),
    [{ kind: "circle", r: 1 }, { kind: "box", w: 1, h: 2 }]],
  intersection: [z.intersection(z.object({ a: z.string() }), z.object({ b: z.number() })),
    [{ a: "x", b: 1 }]],
  strict: [z.strictObject({ a: z.string() }), [{ a: "x" }]],
  loose: [z.looseObject({ a: z.string() }), [{ a: "x", q: 1 }]],
  catchall: [z.object({ a: z.string() }).catchall(z.number()), [{ a: "x", q: 1 }]],
  optional: [z.object({ a: z.string().optional(), b: z.number().default(3) }), [{ b: 1 }]],
  nullable: [z.object({ a: z.string().nullable() }), [{ a: null }]],
  nested: [z.object({ u: z.object({ email: z.email(), tags: z.array(z.string()) }) }),
    [{ u: { email: "a@b.de", tags } }]],
  literals: [z.literal(["a", 1, true, null]), ["a", 1]],
  recursive: [z.object({ v: z.string(), get kids() { return z.array(shapes.recursive[0]); } }),
    [{ v: "a", kids: [{ v: "b", kids: [] }] }]],
  described: [z.object({ name: z.string().describe("the name") }).describe("a person"),
    [{ name: "Ann" }]],
  readonly: [z.array(z.string()).readonly(), [["a"]]],
  never: [z.object({ a: z.string(), b: z.never().optional() }), [{ a: "x" }]],
};
const whole = {
  invoice: [z.object({ id: z.uuid(), issued: z.iso.date(), total: z.number().multipleOf(0.01),
    currency: z.enum(["EUR", "USD"]), lines: z.array(z.object({ sku: z.string().regex(/^[A-Z0-9-]+$/),
      count: z.int().positive(), price: z.number().multipleOf(0.01).nonnegative() })).min(1) }),
    [{ id: uuid, issued: "2024-01-02", total: 12.5, currency: "EUR",
      lines: [{ sku: "A-1", count: 2, price: 6.25 }] }]],
  contact: [z.object({ name: z.string().min(1), email: z.email(), site: z.url().optional(),
    phone: z.e164().optional() }), [{ name: "Ann", email: "ann@example.com" }]],
  event: [z.object({ at: z.iso.datetime(), length: z.iso.duration(), host: z.hostname() }),
    [{ at: "2024-01-02T03:04:05Z", length: "PT1H", host: "a.example.com" }]],
  point: [z.object({ at: z.tuple([z.number().min(-90).max(90), z.number().min(-180).max(180)]) }),
    [{ at: [1.5, 2.5] }]],
  tool: [z.discriminatedUnion("tool", [
    z.object({ tool: z.literal("search"), query: z.string(), limit: z.int().min(1).max(50) }),
    z.object({ tool: z.literal("fetch"), url: z.url() }),
    z.object({ tool: z.literal("calc"), a: z.number(), op: z.enum(["+", "-"]), b: z.number() })]),
    [{ tool: "fetch", url: "https://example.com/" }]],
};

const say = (name, schema, valid) => console.log(JSON.stringify({ name, schema, valid }));
const all = { ...strings, ...numbers, ...shapes, ...whole };
for (const target of ["draft-2020-12", "draft-7", "draft-4", "openapi-3.0"])
  for (const [name, [schema, valid]] of Object.entries(all))
    say(`zod ${target} ${name}`, z.toJSONSchema(schema, { target, unrepresentable: "any" }), valid);
for (const [name, [schema, valid]] of Object.entries(all)) {
  if (["partialRecord", "optional", "loose", "catchall", "contact", "never", "intersection"].includes(name)) continue;
  try {
    say(`openai ${name}`, zodResponseFormat(z.object({ value: schema }), "out").json_schema.schema,
      valid.map((value) => ({ value })));
  } catch { /* what OpenAI's helper cannot say */ }
}
const T = Type;
const box = {
  email: [T.String({ format: "email" }), ["ann@example.com"]],
  uri: [T.String({ format: "uri" }), ["https://example.com/"]],
  uriReference: [T.String({ format: "uri-reference" }), ["../a?b"]],
  dateTime: [T.String({ format: "date-time" }), ["2024-02-29T12:30:00Z"]],
  hostname: [T.String({ format: "hostname" }), ["a.de"]],
  ipv4: [T.String({ format: "ipv4" }), ["1.2.3.4"]],
  regexp: [T.RegExp(/^[a-z]+\s[a-z]+$/), ["a b"]],
  template: [T.TemplateLiteral("on-${a|b}"), ["on-a"]],
  integer: [T.Integer({ minimum: 1, exclusiveMaximum: 10 }), [3]],
  money: [T.Number({ multipleOf: 0.01, minimum: 0 }), [1.25]],
  tuple: [T.Tuple([T.String(), T.Number()]), [["a", 1]]],
  unique: [T.Array(T.String(), { uniqueItems: true }), [["a", "b"]]],
  uniqueEnum: [T.Array(T.Union([T.Literal("a"), T.Literal("b")]), { uniqueItems: true }), [["b", "a"]]],
  contains: [T.Array(T.Integer(), { minItems: 1, maxItems: 4 }), [[1]]],
  record: [T.Record(T.String(), T.Number()), [{ a: 1 }]],
  recordLiteral: [T.Record(T.Union([T.Literal("a"), T.Literal("b")]), T.Number()), [{ a: 1, b: 2 }]],
  recordPattern: [T.Record(T.RegExp(/^x-/), T.Null()), [{ "x-a": null }]],
  union: [T.Union([T.String(), T.Null()]), [null]],
  intersect: [T.Intersect([T.Object({ a: T.String() }), T.Object({ b: T.Number() })]), [{ a: "", b: 1 }]],
  closed: [T.Object({ a: T.Optional(T.String()) }, { additionalProperties: false }), [{}]],
  composite: [T.Composite([T.Object({ a: T.String() }), T.Object({ b: T.Boolean() })]), [{ a: "", b: true }]],
  enum: [T.Enum({ A: "a", B: "b" }), ["a"]],
  partial: [T.Partial(T.Object({ a: T.String(), b: T.Integer() })), [{ b: 1 }]],
  recursive: [T.Recursive((self) => T.Object({ v: T.String(), kids: T.Array(self) }), { $id: "Node" }),
    [{ v: "a", kids: [] }]],
  not: [T.Not(T.String()), [1]],
  literal: [T.Literal(3), [3]],
};
for (const [name, [schema, valid]] of Object.entries(box)) say(`typebox ${name}`, schema, valid);
