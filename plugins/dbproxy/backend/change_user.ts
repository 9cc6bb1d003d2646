import { clientDialogue } from "../auth/client_dialogue.ts";
import { decodeErr } from "../wire/err.ts";
import { encodeChangeUser } from "../wire/login.ts";
import type { Account } from "./account.ts";
import type { Backend } from "./backend.ts";
import { ownAttributes, ServerRefused } from "./login.ts";

/**
 * Makes a backend's session a new one with COM_CHANGE_USER to the account it has: unlike a reset that takes back the role and
 * the default schema too, and the connection keeps its id. Trackers are off then.
 *
 * @throws ServerRefused with the server's words: unknown schema, for one; or what the connection was lost with
 */
export function changeUser(
  backend: Backend,
  account: Account,
  wish: { readonly charset: number; readonly schema: string | undefined },
): Promise<void> {
  const { user, password } = account;
  const { capabilities, greeting: { plugin, nonce } } = backend;
  return backend.converse(async (server) => {
    const { secure, encrypted } = server.socket;
    const dialogue = clientDialogue({ user, password, plugin, nonce, secure, encrypted });
    const first = dialogue.first();
    server.write(encodeChangeUser({
      user,
      auth: first.auth,
      database: wish.schema,
      charset: wish.charset,
      plugin: first.plugin,
      attributes: ownAttributes,
    }, capabilities));
    for (;;) {
      const answer = await server.read();
      if (answer[0] === 0x00) return;
      if (answer[0] === 0xff) throw new ServerRefused(decodeErr(answer));
      const next = dialogue.next(answer);
      if (next !== undefined) server.write(next);
    }
  });
}
