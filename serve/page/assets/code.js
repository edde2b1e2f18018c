// "View code": the current request for curl, Python and Go.

// kinds are the two ways to ask: the path, Python's method, and where an answer's text is.
const completion = {
  path: "/v1/completions", method: "completions", text: "text",
  answer: "struct{ Text string }", field: "Text",
};
const chat = {
  path: "/v1/chat/completions", method: "chat.completions", text: "message.content",
  answer: "struct{ Message struct{ Content string } }", field: "Message.Content",
};
const kindOf = (body) => (body.messages ? chat : completion);

// openaiFields are the fields that Python's client takes by name; others go into extra_body.
const openaiFields = new Set([
  "model",
  "prompt",
  "messages",
  "max_tokens",
  "n",
  "stop",
  "temperature",
  "top_p",
  "seed",
  "frequency_penalty",
  "presence_penalty",
  "logit_bias",
  "logprobs",
  "stream",
]);

export const LANGUAGES = [
  { name: "curl", write: curl },
  { name: "Python", write: python },
  { name: "Go", write: go },
];

// curl returns a command for a POSIX shell. No code has the API key.
function curl(body, origin, keyed) {
  const quoted = "'" + JSON.stringify(body, null, 2).replaceAll("'", "'\\''") + "'";
  return (
    `curl ${origin}${kindOf(body).path} \\\n` +
    (keyed ? '  -H "Authorization: Bearer $GPT_API_KEY" \\\n' : "") +
    `  -H 'Content-Type: application/json' \\\n  -d ${quoted}\n`
  );
}

// literal returns a JSON value as a Python literal.
function literal(value, indent) {
  if (value === null) return "None";
  if (value === true) return "True";
  if (value === false) return "False";
  if (typeof value !== "object") return JSON.stringify(value);
  const inner = indent + "    ";
  const array = Array.isArray(value);
  const items = array
    ? value.map((item) => literal(item, inner))
    : Object.entries(value).map(([k, v]) => `${JSON.stringify(k)}: ${literal(v, inner)}`);
  const [open, close] = array ? "[]" : "{}";
  const line = open + items.join(", ") + close;
  if (line.length <= 60 && !line.includes("\n")) return line;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join("")}${indent}${close}`;
}

function python(body, origin, keyed) {
  const { method, text } = kindOf(body);
  const known = Object.entries(body).filter(([name]) => openaiFields.has(name));
  const extra = Object.entries(body).filter(([name]) => !openaiFields.has(name));
  const rows = known.map(([name, value]) => [name, literal(value, "    ")]);
  if (extra.length > 0) rows.push(["extra_body", literal(Object.fromEntries(extra), "    ")]);
  const key = keyed ? 'os.environ["GPT_API_KEY"]' : '"none"';
  return `${keyed ? "import os\n\n" : ""}from openai import OpenAI

client = OpenAI(base_url=${JSON.stringify(origin + "/v1")}, api_key=${key})
completion = client.${method}.create(
${rows.map(([name, value]) => `    ${name}=${value},\n`).join("")})
for choice in completion.choices:
    print(choice.${text})
`;
}

function go(body, origin, keyed) {
  const { path, answer, field } = kindOf(body);
  const json = JSON.stringify(body, null, "\t");
  const quoted = json.includes("`") ? JSON.stringify(json) : "`" + json + "`";
  const imports = ["encoding/json", "fmt", "log", "net/http", "strings", ...(keyed ? ["os"] : [])];
  return (
    `package main

import (
${imports
  .sort()
  .map((name) => `\t"${name}"\n`)
  .join("")})

const body = ${quoted}

func main() {
	request, err := http.NewRequest("POST", ${JSON.stringify(origin + path)},
		strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
${keyed ? '\trequest.Header.Set("Authorization", "Bearer "+os.Getenv("GPT_API_KEY"))\n' : ""}` +
    `	response, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer response.Body.Close()
	var completion struct{ Choices []${answer} }
	if err := json.NewDecoder(response.Body).Decode(&completion); err != nil {
		log.Fatal(err)
	}
	for _, choice := range completion.Choices {
		fmt.Println(choice.${field})
	}
}
`
  );
}
