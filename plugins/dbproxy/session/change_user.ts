import { newNonce } from "../auth/nonce.ts";
import { StepFailed } from "../backend/backend.ts";
import { ServerRefused } from "../backend/login.ts";
import { CAP } from "../wire/capabilities.ts";
import { encodeErr } from "../wire/err.ts";
import { accessDenied, unknownCommand } from "../wire/errors.ts";
import { decodeChangeUser, encodeChangeUser } from "../wire/login.ts";
import type { ChangeUser, ErrPacket, Greeting, Login } from "../wire/packets.ts";
import { dialogueFor, enter, type FrontOptions, okPacket, Refused } from "./entrance.ts";
import { errorFor } from "./error_for.ts";
import { askFirst, relayDialogue } from "./relay_dialogue.ts";
import type { Session } from "./session.ts";
import type { Talk } from "./talk.ts";
import { Track } from "./track.ts";

/** So many refusals MariaDB answers one by one. */
const patience = 3;

interface Options extends FrontOptions {
  readonly greeting: Greeting;
}

/**
 * COM_CHANGE_USER: the user is checked as at a login, always by a switch of the method (so a fresh nonce), and what follows
 * is a new session on the same connection: the client's, and the server's.
 *
 * After a refusal MySQL closes the connection; MariaDB goes on with a new session of the old user.
 */
export async function changeUser(session: Session, talk: Talk, payload: Uint8Array, options: Options): Promise<void> {
  const { facts } = options.host;
  try {
    if (session.refusals >= patience) throw new Refused(unknownCommand());
    const asked = decodeChangeUser(payload, session.capabilities);
    const charset = asked.charset === 0 ? options.greeting.charset : asked.charset;
    const track = new Track(facts, options.host.root(charset), asked.database, session.track.multiStatements);
    if (session.dedicated) await passOn(talk, session, asked, options);
    else if (options.auth === "trust" || options.users.has(asked.user) || options.relay === undefined) {
      await check(talk, session, asked, track, options);
    } else {
      const { host, backend } = await options.relay(talk, loginOf(asked, session), options.greeting.nonce);
      session.move(host, backend);
    }
    session.begin(asked.user, track);
    talk.write(okPacket(track.status, session.capabilities));
    session.changed();
  } catch (cause) {
    const packet = cause instanceof Refused ? cause.packet : errorFor(cause);
    if (facts.server === "mariadb" && isRefusal(cause)) return await goOn(talk, session, packet, options);
    talk.write(encodeErr(packet));
    session.close();
  }
}

/** A user of the proxy's own. */
async function check(talk: Talk, session: Session, asked: ChangeUser, track: Track, options: Options): Promise<void> {
  const nonce = newNonce();
  const { plugin } = options.greeting;
  const dialogue = dialogueFor(asked.user, plugin, nonce, talk.socket.secure, options);
  const auth = await askFirst(talk, { ...options.greeting, nonce });
  let step = dialogue.start({ plugin, auth });
  while (step.kind === "wait") {
    talk.write(...step.send);
    step = dialogue.next(await talk.read());
  }
  talk.write(...step.send);
  if (step.kind === "refused") {
    options.authFailed(plugin);
    throw new Refused(accessDenied(asked.user, session.peer, auth.byteLength > 0));
  }
  if (session.backend === undefined) {
    session.adopt(await enter(options.host, session.capabilities, track, session.promised, session));
  } else await session.renew(track);
}

/** A session that has its connection for itself: the server sees to all. */
async function passOn(talk: Talk, session: Session, asked: ChangeUser, options: Options): Promise<void> {
  const backend = session.backend!;
  const { greeting, capabilities } = backend;
  await backend.converse(async (server) => {
    const auth = await askFirst(talk, greeting);
    server.write(encodeChangeUser({ ...asked, auth, plugin: greeting.plugin }, capabilities));
    await relayDialogue(talk, server, greeting, options.greeting.nonce);
  });
  await backend.prepare([{ kind: "trackers" }], true);
}

/** Somebody said no: the server or the proxy; anything else is a failure of the machinery. */
function isRefusal(cause: unknown): boolean {
  return cause instanceof Refused || cause instanceof ServerRefused || cause instanceof StepFailed;
}

/** What MariaDB does after a refusal: the session begins anew with its old user and schema. */
async function goOn(talk: Talk, session: Session, packet: ErrPacket, { host }: Options): Promise<void> {
  try {
    if (session.refusals++ < patience) {
      const { settings, schema, multiStatements } = session.track;
      const track = new Track(host.facts, host.root(settings.charset), schema, multiStatements);
      if (session.dedicated) await session.backend!.prepare([{ kind: "trackers" }], true);
      else await session.renew(track);
      session.begin(session.user, track);
    }
    talk.write(encodeErr(packet));
    session.changed();
  } catch (cause) {
    talk.write(encodeErr(errorFor(cause)));
    session.close();
  }
}

/** As a login of its own. */
function loginOf(asked: ChangeUser, { capabilities }: Session): Login {
  const without = capabilities & ~CAP.CONNECT_WITH_DB;
  return {
    ...asked,
    capabilities: asked.database === undefined ? without : without | CAP.CONNECT_WITH_DB,
    extended: 0,
    maxPacket: 0,
    zstdLevel: 0,
  };
}
