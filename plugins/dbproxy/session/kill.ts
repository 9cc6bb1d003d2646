import { notOwner, unknownThread } from "../wire/errors.ts";
import { errorAnswer, plainOk } from "./answers.ts";
import type { SessionHost } from "./host.ts";
import type { Session } from "./session.ts";

/**
 * KILL by a connection id that means one of the proxy's sessions. Over a connection of its own: the pool may be full of what
 * is to be killed. False when the id is none of ours, so that the server itself must answer.
 */
export function kill(
  by: Session,
  host: SessionHost,
  target: { readonly id: number; readonly query: boolean },
): boolean {
  const victim = host.sessions.find(target.id);
  if (victim === undefined) return false;
  if (victim.user !== by.user) {
    by.answer(errorAnswer(notOwner(target.id)));
    return true;
  }
  const ok = () => by.answer(plainOk(by.track.status, by.capabilities));
  const backendId = victim.backendId;
  if (victim === by && !target.query) {
    victim.end();
    return true;
  }
  if (backendId === undefined) {
    if (!target.query) victim.end();
    ok();
    return true;
  }
  host.kill(backendId, target.query).then(ok, () => by.answer(errorAnswer(unknownThread(target.id))));
  return true;
}
