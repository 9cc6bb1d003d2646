import { decodeChangeUser } from "../wire/login.ts";
import { encodeErr } from "../wire/err.ts";
import { accessDenied } from "../wire/errors.ts";
import { frame, frames } from "../wire/frame.ts";
import type { Greeting } from "../wire/packets.ts";
import { newNonce } from "../auth/nonce.ts";
import type { ServerStep } from "../auth/dialogue.ts";
import { authSwitch } from "../auth/auth_packets.ts";
import { errorFor } from "./error_for.ts";
import { dialogueFor, enter, type FrontOptions, okPacket } from "./front.ts";
import type { Session } from "./session.ts";
import { Track } from "./track.ts";

/**
 * COM_CHANGE_USER: the proxy checks the user as at a login, always by a switch of the method (so a fresh nonce), and what
 * follows is a new session. A refusal ends the connection, as a server's does.
 */
export async function changeUser(
  session: Session,
  payload: Uint8Array,
  options: FrontOptions & { readonly greeting: Greeting },
): Promise<void> {
  const { host } = options;
  let seq = 1;
  const say = (...payloads: readonly Uint8Array[]) => {
    session.say(frames(seq, payloads));
    seq = (seq + payloads.length) & 255;
  };
  try {
    const asked = decodeChangeUser(payload.subarray(1), session.capabilities);
    const challenge = newNonce();
    const { plugin } = options.greeting;
    const dialogue = dialogueFor(asked.user, plugin, challenge, session.secure, options);
    say(authSwitch(plugin, challenge));
    const read = async () => {
      const next = await session.packet();
      seq = (next.seq + 1) & 255;
      return next.payload;
    };
    const auth = await read();
    let step: ServerStep = dialogue.start({ plugin, auth });
    while (step.kind === "wait") {
      say(...step.send);
      step = dialogue.next(await read());
    }
    if (step.kind === "refused") {
      say(...step.send, encodeErr(accessDenied(asked.user, session.peer, auth.byteLength > 0)));
      options.authFailed(plugin);
      return session.close();
    }
    const charset = asked.charset === 0 ? options.greeting.charset : asked.charset;
    const track = new Track(host.facts, host.root(charset), asked.database, session.track.multiStatements);
    session.renew(asked.user, track);
    const backend = await enter(host, session.capabilities, track);
    if (backend !== undefined) session.adopt(backend);
    say(...step.send, okPacket(track.status, session.capabilities));
    session.changed();
  } catch (cause) {
    session.say(frame(seq, encodeErr(errorFor(cause))));
    session.close();
  }
}
