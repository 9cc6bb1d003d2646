import { describe, expect, test } from "bun:test";
import { preferredFormat } from "../../plugins/metrics/accept.ts";

describe("preferredFormat", () => {
  const text = [
    null,
    "",
    "*/*",
    "text/html",
    "text/plain",
    "application/openmetrics-text;q=0",
    "application/openmetrics-text;q=x",
    "application/openmetrics-text;version=0.0.1",
    "application/openmetrics-text;q=0.4, text/plain;q=0.5",
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
  ];
  for (const accept of text) test(`text for ${accept}`, () => expect(preferredFormat(accept)).toBe("text"));

  const open = [
    "application/openmetrics-text",
    "Application/OpenMetrics-Text; Version=1.0.0",
    "text/plain, application/openmetrics-text",
    // What Prometheus 2 and 3 send.
    "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
  ];
  for (const accept of open) {
    test(`OpenMetrics for ${accept}`, () => expect(preferredFormat(accept)).toBe("openmetrics"));
  }
});
