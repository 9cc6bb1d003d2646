import type { Backend } from "../backend/backend.ts";
import type { ReplyRelay } from "../reply/relay.ts";
import type { CommandReader } from "../wire/command_reader.ts";
import { frame } from "../wire/frame.ts";
import { Renumber } from "./renumber.ts";

/** Between whom a file goes. */
export interface FileRoute {
  readonly reader: CommandReader;
  readonly relay: ReplyRelay;
  readonly backend: Backend | undefined;
}

/** The server asks for a file of the client's (LOCAL INFILE). */
export function passFile(route: FileRoute, allowed: boolean): void {
  const { reader, relay } = route;
  if (!allowed) {
    // The client was not asked: it may send no file.
    route.backend?.write(frame(relay.backendSeq, new Uint8Array(0)));
    return relay.infileSent();
  }
  const renumber = relay.shift === 0 ? undefined : new Renumber(relay.shift);
  reader.infile((frames, last) => {
    renumber?.pass(frames);
    if (route.backend?.write(frames) === false) reader.hold();
    if (last) relay.infileSent();
  });
}
