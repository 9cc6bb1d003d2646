/** The server under test, in a process of its own, and beside it a socket that only echoes: what a round trip costs here at least. */
import process from "node:process";
import { FairGate } from "../../../plugins/admission/fair_gate.ts";
import { NamedGates } from "../../../plugins/admission/gates.ts";
import { listen } from "../../../plugins/bulkhead/local/listen.ts";
import { LocalServer } from "../../../plugins/bulkhead/local/local_server.ts";
import { MemoryStore } from "../../../plugins/bulkhead/memory_store.ts";

const [path, echo] = process.argv.slice(2) as [string, string];
const gates = new NamedGates((name, limit, { maxQueue = Infinity, grace = Infinity }) =>
  new FairGate({ name, limit, maxQueue, grace })
);
await LocalServer.listen({ path, store: new MemoryStore({ gates }, "local") });
const answer = new Uint8Array(28);
await listen({ path: echo, mode: 0o600, group: undefined }, (peer) => ({
  // A question, alone or behind the release of the one before.
  onData: ({ length }) => void (length > 8 && peer.write(answer)),
  onClose: () => {},
}));
// The end of the bench is ours, too.
process.stdin.on("end", () => process.exit(0)).resume();
console.log("ready");
