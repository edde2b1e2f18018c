// Says which texts of a file that `go run . -everyday` wrote ajv finds invalid.
const Ajv2020 = require("ajv/dist/2020"), Ajv = require("ajv"), Ajv4 = Ajv, formats = require("ajv-formats");
const read = require("fs").readFileSync(process.argv[2], "utf8").trim().split("\n").map((l) => JSON.parse(l));
let good = 0, bad = 0, cannot = 0;
for (const { name, schema, texts } of read) {
  const of = (schema.$schema || "").includes("draft-07") || name.includes("draft-4") || name.includes("openapi")
    || Array.isArray(schema.items) ? Ajv : Ajv2020;
  const ajv = new of({ strict: false, logger: false, multipleOfPrecision: 9, validateSchema: false });
  formats(ajv);
  if (JSON.stringify(schema).includes('"exclusiveM') && name.includes("draft-4") || name.includes("openapi")) {
    for (const k of ["exclusiveMinimum", "exclusiveMaximum"]) ajv.removeKeyword(k);
  }
  const { $schema, ...rest } = schema;
  let check;
  try { check = ajv.compile(rest); } catch (e) { cannot++; continue; }
  for (const t of texts) if (check(t)) good++; else { bad++; console.log("INVALID", name, JSON.stringify(t).slice(0, 300), ajv.errorsText(check.errors)); }
}
console.log(`${good} valid, ${bad} invalid, ${cannot} schemas that ajv does not compile`);
