import type { Backend } from "../backend/backend.ts";
import type { ByteSocket } from "../net/socket.ts";
import type { SessionTalk } from "./talk.ts";
import type { Session } from "./session.ts";
import type { Track } from "./track.ts";

/** What a session is made of, once its client is logged in. */
export interface SessionOptions {
  readonly id: number;
  readonly user: string;
  readonly capabilities: number;
  readonly socket: ByteSocket;
  /** Tells a compressed connection that the next command may come. */
  readonly restart?: (() => void) | undefined;
  readonly track: Track;
  /** A backend that was needed to log in. */
  readonly backend?: Backend | undefined;
  /** The backend whose id it was greeted with. */
  readonly promised?: Backend | undefined;
  /** Changes the user; see `change_user.ts`. */
  readonly changeUser: (session: Session, talk: SessionTalk, payload: Uint8Array) => void;
  /** A session with a connection of its own, that is not pooled. */
  readonly dedicated?: boolean;
}
