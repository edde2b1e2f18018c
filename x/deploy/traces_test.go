package deploy

// Lines of the log as traces: traces/spans.jq, run on what a server logs.

import (
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/itchyny/gojq"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"sigs.k8s.io/yaml"
)

// traced asks a server for a text of a trace, and makes spans of the line in its log.
func traced(t *testing.T, s *server) {
	t.Helper()
	const trace, parent = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	r, err := http.NewRequest("POST", s.address+"/v1/completions", strings.NewReader(
		`{"prompt":"Once upon","max_tokens":3,"ignore_eos":true,"seed":7,"top_p":0.5,"top_k":5,`+
			`"frequency_penalty":0.25,"n":2}`))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer secret")
	r.Header.Set("Traceparent", "00-"+trace+"-"+parent+"-01")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	var line string
	id, _, _ := strings.Cut(strings.TrimPrefix(string(text), `{"id":"`), `"`)
	for line = range s.lines { // before it are refusals, which have no phases
		if strings.Contains(line, `"path":"/v1/completions"`) {
			break
		}
	}
	spans := spansOf(t, line)
	if len(spans) != 4 {
		t.Fatalf("%d spans of %s, want those of the request and of its phases", len(spans), line)
	}
	whole := spans[0]
	if hex.EncodeToString(whole.TraceId) != trace || hex.EncodeToString(whole.ParentSpanId) != parent ||
		whole.Kind != tracev1.Span_SPAN_KIND_SERVER || whole.Name != "POST /v1/completions" {
		t.Errorf("the request's span is %v", whole)
	}
	attributes := map[string]string{}
	for _, a := range whole.Attributes {
		attributes[a.Key] = a.Value.String()
	}
	for key, want := range map[string]string{
		"url.path": `string_value:"/v1/completions"`, "http.response.status_code": "int_value:200",
		"client.address": `string_value:"127.0.0.1"`, "enduser.id": `string_value:"#1"`,
		"gen_ai.operation.name": `string_value:"text_completion"`,
		"gen_ai.provider.name":  `string_value:"gpt"`, "gen_ai.request.model": `string_value:"demo"`,
		"gen_ai.response.model":          `string_value:"demo"`,
		"gen_ai.response.id":             `string_value:"` + id + `"`,
		"gen_ai.response.finish_reasons": `array_value:{values:{string_value:"length"}}`,
		"gen_ai.usage.input_tokens":      "int_value:2", "gen_ai.usage.output_tokens": "int_value:6",
		"gen_ai.request.max_tokens": "int_value:3", "gen_ai.request.choice.count": "int_value:2",
		"gen_ai.request.seed": "int_value:7", "gen_ai.request.temperature": "double_value:1",
		"gen_ai.request.top_p": "double_value:0.5", "gen_ai.request.top_k": "double_value:5",
		"gen_ai.request.frequency_penalty": "double_value:0.25", "gen_ai.request.presence_penalty": "",
	} {
		got := strings.ReplaceAll(attributes[key], "  ", " ") // which varies in protobuf's texts
		if got = strings.ReplaceAll(got, ": ", ":"); got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
	at, ids := whole.EndTimeUnixNano, map[string]bool{string(whole.SpanId): true}
	for i := 3; i > 0; i-- {
		s := spans[i]
		if s.Name != []string{"", "queue", "prompt", "decode"}[i] || s.EndTimeUnixNano != at ||
			s.StartTimeUnixNano > at || string(s.ParentSpanId) != string(whole.SpanId) || ids[string(s.SpanId)] {
			t.Errorf("phase %d is %v, want it to end at %d", i, s, at)
		}
		at, ids[string(s.SpanId)] = s.StartTimeUnixNano, true
	}
	if at < whole.StartTimeUnixNano {
		t.Errorf("the phases begin at %d, the request at %d", at, whole.StartTimeUnixNano)
	}
}

// spansOf runs the filter on a line, and decodes its result strictly.
func spansOf(t *testing.T, line string) []*tracev1.Span {
	t.Helper()
	source, err := os.ReadFile("traces/spans.jq")
	if err != nil {
		t.Fatal(err)
	}
	query, err := gojq.Parse(string(source))
	if err != nil {
		t.Fatal(err)
	}
	result, ok := query.Run(line).Next()
	if !ok {
		return nil
	}
	if err, bad := result.(error); bad {
		t.Fatalf("%v in %s", err, line)
	}
	text, err := json.Marshal(result)
	if err != nil {
		t.Fatal(err)
	}
	if jq, err := exec.LookPath("jq"); err == nil { // the other program gives the same
		cmd := exec.Command(jq, "-R", "-f", "traces/spans.jq")
		cmd.Stdin = strings.NewReader(line)
		out, err := cmd.Output()
		var theirs, ours any
		if err != nil || json.Unmarshal(out, &theirs) != nil || json.Unmarshal(text, &ours) != nil ||
			!reflect.DeepEqual(theirs, ours) {
			t.Errorf("jq: %v: %s, want %s", err, out, text)
		}
	}
	// In OTLP's JSON ids are hexadecimal, where Protobuf's has base64.
	var request tracev1.TracesData
	if err := protojson.Unmarshal(text, &request); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	var ids struct {
		ResourceSpans []struct {
			ScopeSpans []struct {
				Spans []struct{ TraceID, SpanID, ParentSpanID string }
			}
		}
	}
	if err := json.Unmarshal(text, &ids); err != nil {
		t.Fatal(err)
	}
	spans := request.ResourceSpans[0].ScopeSpans[0].Spans
	for i, id := range ids.ResourceSpans[0].ScopeSpans[0].Spans {
		s := spans[i]
		for to, from := range map[*[]byte]string{&s.TraceId: id.TraceID, &s.SpanId: id.SpanID,
			&s.ParentSpanId: id.ParentSpanID} {
			if *to, err = hex.DecodeString(from); err != nil {
				t.Fatal(err)
			}
		}
	}
	return spans
}

func TestLinesThatAreNoTexts(t *testing.T) {
	for _, line := range []string{"", "gpt: listening on http://127.0.0.1:8080", "{", "[1]",
		`{"time":"2026-11-23T10:54:47Z","level":"INFO","msg":"listening"}`} {
		if spans := spansOf(t, line); spans != nil {
			t.Errorf("%q: %v", line, spans)
		}
	}
	for zone, east := range map[string]int{"Z": 0, ".812930729Z": 0, "+01:00": 60, ".5-09:30": -570} {
		stamp := "2026-11-23T10:54:47" + zone
		want, err := time.Parse(time.RFC3339Nano, stamp)
		if err != nil {
			t.Fatal(err)
		}
		spans := spansOf(t, `{"time":"`+stamp+`","msg":"request","trace_id":"4bf92f3577b34da6a3ce929d0e0e4736",`+
			`"span_id":"00f067aa0ba902b7","method":"GET","path":"/x","status":503,"client":"[::1]:5","took_ms":1500}`)
		if len(spans) != 1 || spans[0].EndTimeUnixNano != uint64(want.Truncate(time.Microsecond).UnixNano()) ||
			spans[0].EndTimeUnixNano-spans[0].StartTimeUnixNano != 1.5e9 ||
			spans[0].Status.Code != tracev1.Status_STATUS_CODE_ERROR {
			t.Errorf("%s, %d minutes east: %v", stamp, east, spans)
		}
	}
}

// TestTheCollectorTakesWhatIsSent: the address in README.md is one of the collector's.
func TestTheCollectorTakesWhatIsSent(t *testing.T) {
	text, err := os.ReadFile("traces/collector.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var c struct {
		Receivers struct {
			OTLP struct {
				Protocols struct {
					HTTP struct{ Endpoint string } `json:"http"`
				} `json:"protocols"`
			} `json:"otlp"`
		} `json:"receivers"`
		Exporters map[string]struct {
			Endpoint string `json:"endpoint"`
		} `json:"exporters"`
		Service struct {
			Pipelines map[string]struct{ Receivers, Exporters []string } `json:"pipelines"`
		} `json:"service"`
	}
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if at := c.Receivers.OTLP.Protocols.HTTP.Endpoint; at == "" ||
		!strings.Contains(string(readme), at+"/v1/traces") {
		t.Errorf("README.md does not send to %s/v1/traces", at)
	}
	p := c.Service.Pipelines["traces"]
	if len(p.Receivers) != 1 || p.Receivers[0] != "otlp" || len(p.Exporters) != 1 ||
		c.Exporters[p.Exporters[0]].Endpoint == "" {
		t.Errorf("the pipeline of traces is %+v", p)
	}
}
