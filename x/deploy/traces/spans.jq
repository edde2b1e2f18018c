# A line of gpt serve --log json becomes the spans of one request, as OTLP has them in JSON, which any
# OpenTelemetry collector takes at /v1/traces. Other lines become nothing. Run it with jq -R.

# microseconds of a time since 1970: nanoseconds have more digits than jq's numbers.
def microseconds:
  capture("^(?<second>[0-9-]+T[0-9:]+)(?<part>[.][0-9]+)?(?<zone>Z|[+-][0-9:]+)$")
  | (if .zone == "Z" then 0
     else (.zone[1:3] | tonumber) * 60 + (.zone[4:6] | tonumber) end) as $minutes
  | (if .zone[0:1] == "-" then -$minutes else $minutes end) as $east
  | (((.second + "Z") | fromdateiso8601) - $east * 60) * 1000000
    + (((.part // ".") + "000000")[1:7] | tonumber);

# nanoseconds are a string in OTLP.
def nanoseconds: "\(floor)000";

def text(name; value): value | if . == null then empty
  else {key: name, value: {stringValue: tostring}} end;
def number(name; value): value | if . == null then empty
  else {key: name, value: {intValue: tostring}} end;
def fraction(name; value): value | if . == null then empty
  else {key: name, value: {doubleValue: .}} end;
def texts(name; value): value | if . == null then empty
  else {key: name, value: {arrayValue: {values: (split(",") | map({stringValue: .}))}}} end;

# What OpenTelemetry's conventions for generative AI call the work of a path, and how the ids of its
# answers begin; null: no such work.
def work: {"/v1/completions": ["text_completion", "cmpl-"], "/v1/responses": ["chat", "resp_"],
  "/v1/chat/completions": ["chat", "chatcmpl-"], "/v1/embeddings": ["embeddings"]}[.path];

fromjson? | objects | select(.msg == "request" and .trace_id != null)
| . as $line
| (.time | microseconds) as $last
# The phases end with the request, one after the other.
| ($last - (.decode_ms // 0) * 1000) as $decode
| ($decode - (.prompt_ms // 0) * 1000) as $prompt
| ($prompt - (.queue_ms // 0) * 1000) as $queue
# Ids of the phases: that of the request with another last digit.
| (["0", "1", "2", "3"] - [.span_id[15:16]]) as $digits
| [["queue", .queue_ms, $queue, $prompt], ["prompt", .prompt_ms, $prompt, $decode],
   ["decode", .decode_ms, $decode, $last]] as $phases
| {resourceSpans: [{
    resource: {attributes: [text("service.name"; "gpt")]},
    scopeSpans: [{scope: {name: "gpt serve"}, spans: ([{
      traceId: .trace_id, spanId: .span_id, parentSpanId: (.parent_id // ""), kind: 2,
      name: "\(.method) \(.path)",
      startTimeUnixNano: ($last - .took_ms * 1000 | nanoseconds),
      endTimeUnixNano: ($last | nanoseconds),
      status: {code: (if .status >= 500 then 2 else 0 end)},
      attributes: [
        text("http.request.method"; .method), text("url.path"; .path),
        number("http.response.status_code"; .status), text("user_agent.original"; .agent),
        text("client.address"; .address // (.client | sub(":[0-9]+$"; ""))),
        text("enduser.id"; .key),
        text("request.id"; .request), text("error.type"; .error),
        (work // empty | text("gen_ai.operation.name"; .[0]), text("gen_ai.provider.name"; "gpt")),
        text("gen_ai.request.model"; .model), text("gen_ai.response.model"; .model),
        text("gen_ai.response.id"; if .finish and work then work[1] + (.id // .request) else null end),
        texts("gen_ai.response.finish_reasons"; .finish),
        number("gen_ai.request.max_tokens"; .max_tokens),
        number("gen_ai.request.choice.count"; .choices | if . == 0 then null else . end),
        # Larger seeds lose digits in jq, and OTLP's numbers have 63 bits.
        number("gen_ai.request.seed"; .seed | if . and . < 9007199254740992 then . else null end),
        fraction("gen_ai.request.temperature"; .temperature),
        fraction("gen_ai.request.top_p"; .top_p), fraction("gen_ai.request.top_k"; .top_k),
        fraction("gen_ai.request.frequency_penalty"; .frequency_penalty),
        fraction("gen_ai.request.presence_penalty"; .presence_penalty),
        number("gen_ai.usage.input_tokens"; .prompt_tokens),
        number("gen_ai.usage.output_tokens"; .completion_tokens)]
    }] + [range(3) as $i | $phases[$i] | select(.[1] != null) | {
      traceId: $line.trace_id, spanId: ($line.span_id[0:15] + $digits[$i]),
      parentSpanId: $line.span_id, kind: 1, name: .[0],
      startTimeUnixNano: (.[2] | nanoseconds), endTimeUnixNano: (.[3] | nanoseconds)
    }])}]
  }]}
