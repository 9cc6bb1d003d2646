/**
 * One connection to Redis or Valkey, made with node-redis. Commands and messages share it (RESP3), so whoever hears nothing more
 * knows it, and a message never passes the answer to the command before it.
 *
 * @module
 */
import type { RedisClientOptions } from "@redis/client";

/** A live connection. */
export interface Wire {
  /** Commands are carried out, and answered, in the order they are sent. */
  send(args: readonly string[]): Promise<unknown>;
  /** Ends it; what is unanswered rejects. */
  destroy(): void;
}

/**
 * Makes a connection that listens to `channel`.
 *
 * @param onMessage a message on the channel
 * @param onEnd called once when the connection is no more, with the reason
 */
export type Dial = (
  channel: string,
  onMessage: (text: string) => void,
  onEnd: (cause: unknown) => void,
) => Promise<Wire>;

/** Where and how. */
export interface DialOptions {
  /** `redis://[user:password@]host[:port][/db]`, `rediss://` for TLS, or `unix:/path`. */
  readonly url: string;
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** Ms for a connection to be made; 2000 when absent. */
  readonly connectTimeout?: number | undefined;
}

/** Dials with `@redis/client`, which is loaded with the first call. It never dials again by itself. */
export function dialRedis(options: DialOptions): Dial {
  return async (channel, onMessage, onEnd) => {
    // It costs tens of ms, which who has no Redis need not pay.
    const { createClient } = await import("@redis/client");
    const client = createClient(clientOptions(options));
    let ended = false;
    let failure: unknown;
    const end = (cause: unknown) => {
      if (ended) return;
      ended = true;
      onEnd(cause);
    };
    client.on("error", (error) => {
      failure ??= error;
      end(error);
    });
    client.on("end", () => end(failure));
    const destroy = () => {
      ended = true;
      // It throws when it has been closed already.
      if (client.isOpen) client.destroy();
    };
    let timer: ReturnType<typeof setTimeout> | undefined;
    const timeout = options.connectTimeout ?? 2000;
    // A server that was stopped is connected to by its system, and never answers.
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(`No answer from Redis for ${timeout} ms`)), timeout);
    });
    try {
      await Promise.race([client.connect().then(() => client.subscribe(channel, onMessage)), late]);
    } catch (error) {
      destroy();
      throw error;
    } finally {
      clearTimeout(timer);
    }
    return { send: (args) => client.sendCommand(args as string[]), destroy };
  };
}

function clientOptions(options: DialOptions): RedisClientOptions {
  const common = { reconnectStrategy: false, connectTimeout: options.connectTimeout ?? 2000 } as const;
  const path = /^unix:(?:\/\/)?(\/.*)$/.exec(options.url)?.[1];
  return {
    ...(path === undefined
      ? { url: options.url, socket: common }
      : { socket: { ...common, path, tls: false as const } }),
    ...(options.username === undefined ? {} : { username: options.username }),
    ...(options.password === undefined ? {} : { password: options.password }),
    RESP: 3,
    name: "fairlead-bulkhead",
    disableOfflineQueue: true,
    disableClientInfo: true,
    maintNotifications: "disabled",
  } as RedisClientOptions;
}
