/**
 * Asks the edge example as its clients would, from inside the bundle, and prints what it saw as JSON.
 *
 * @module
 */
import worker from "../../examples/edge/worker.ts";

const get = (path: string, signal?: AbortSignal) =>
  worker.fetch(new Request(`http://edge.test${path}`, signal === undefined ? {} : { signal }));

const health = async () => await (await get("/health")).json();

async function probe(): Promise<Record<string, unknown>> {
  const client = new AbortController();
  const running = await Promise.all([1, 2, 3, 4].map(() => get("/report")));
  const fifth = get("/report");
  const leaving = get("/report", client.signal);
  const line = Array.from({ length: 18 }, () => get("/report", client.signal));
  const refused = await get("/report");
  const busy = await health();
  client.abort();
  const left = await Promise.all([leaving, ...line]);
  const afterLeaving = await health();
  const texts = await Promise.all(running.map((response) => response.text()));
  const waited = await fifth;
  texts.push(await waited.text());
  return {
    busy,
    refused: [refused.status, refused.headers.get("retry-after"), await refused.json()],
    left: [...new Set(left.map(({ status }) => status))],
    afterLeaving,
    lines: texts.map((text) => text.trimEnd().split("\n").length),
    waited: Number(/^adm;dur=(\d+\.\d)$/.exec(waited.headers.get("server-timing") ?? "")?.[1]) > 100,
    end: await health(),
  };
}

probe().then((seen) => console.log(JSON.stringify(seen)), (error) => console.log(String(error)));
