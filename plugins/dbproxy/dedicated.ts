import { CoreError } from "../../core/error.ts";
import type { Backend } from "./backend/backend.ts";
import type { SessionHost } from "./session/host.ts";

/**
 * The host of one session that has a connection for itself: nothing is pooled and nothing learned, and with the session the
 * connection ends.
 */
export function dedicatedHost(host: SessionHost, ended: (backend: Backend) => void): SessionHost {
  const end = (backend: Backend, polite: boolean) => {
    backend.close(polite);
    ended(backend);
  };
  return {
    get facts() {
      return host.facts;
    },
    graph: undefined,
    analyser: host.analyser,
    caps: host.caps,
    sessions: host.sessions,
    schemas: host.schemas,
    now: host.now,
    promises: host.promises,
    root: (charset) => host.root(charset),
    mayRunMore: () => true,
    deadlineOf: () => undefined,
    checkout(_want, waiter) {
      const text = "This user's connection is its own: it cannot become another's; connect anew";
      waiter.onRefuse(new CoreError("DB_DEDICATED", text));
      return { cancel() {} };
    },
    release: (backend) => end(backend, true),
    discard: (backend) => end(backend, false),
    changeUser: () => Promise.reject(new CoreError("DB_DEDICATED", "This connection is the server's to change")),
    kill: (id, query) => host.kill(id, query),
    catalogueChanges: () => host.catalogueChanges(),
    executed: (session, what) => host.executed(session, what),
    asksWho: (ms) => host.asksWho(ms),
    answered: (kind) => host.answered(kind),
    pinned() {},
    problem: (error) => host.problem(error),
  };
}
