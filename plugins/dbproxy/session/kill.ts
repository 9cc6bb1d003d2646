import { ServerRefused } from "../backend/login.ts";
import { connectionKilled, interrupted, notOwner, unknownThread } from "../wire/errors.ts";
import { errorAnswer, plainOk } from "./answers.ts";
import { errorFor } from "./error_for.ts";
import type { SessionHost } from "./host.ts";
import type { Session } from "./session.ts";

/**
 * KILL by a connection id that means one of the proxy's sessions. False when the id is none of ours, so that the server itself
 * must answer.
 *
 * Who may kill whom is for the server to say: it hears of it from the session itself when that has a connection of its own, else
 * over a new one of the account's (the pool may be full of what is to be killed). The proxy's own users kill only their own.
 */
export function kill(
  by: Session,
  host: SessionHost,
  target: { readonly id: number; readonly query: boolean },
): boolean {
  const victim = host.sessions.find(target.id);
  if (victim === undefined) return false;
  const { backendId } = victim;
  if (backendId !== undefined && (victim === by || by.dedicated)) {
    // Nobody waits for the victim's end before the server has read this.
    if (victim !== by) victim.backend!.doom ??= "killed";
    by.instead(`KILL ${target.query ? "QUERY " : ""}${backendId}`);
  } else if (victim.user !== by.user && !victim.dedicated) by.answer(errorAnswer(notOwner(target.id)));
  else if (backendId === undefined) killIdle(by, victim, target.query, host.facts.server);
  else {
    host.kill(backendId, target.query).then(() => {
      if (target.query) victim.interrupt();
      answerOk(by);
    }, (error) => {
      const refused = error instanceof ServerRefused ? error.packet.code : 0;
      const packet = refused === notOwner(0).code
        ? notOwner(target.id)
        : refused === unknownThread(0).code
        ? unknownThread(target.id)
        : errorFor(error);
      by.answer(errorAnswer(packet));
    });
  }
  return true;
}

/** A session that has no connection yet. */
function killIdle(by: Session, victim: Session, query: boolean, server: "mysql" | "mariadb"): void {
  if (victim !== by) {
    if (query) victim.interrupt();
    else victim.end();
    return answerOk(by);
  }
  by.answer(errorAnswer(query || server === "mysql" ? interrupted() : connectionKilled()));
  if (!query) by.end();
}

function answerOk(by: Session): void {
  by.answer(plainOk(by.track.status, by.capabilities));
}
