import { constants } from "node:os";

/** The end of a child, as its parent tells it: `ENDED` of PROTOCOL.md. */
export interface Ended {
  readonly token: string;
  /** 0 when it could not be forked. */
  readonly pid: number;
  /** Null also when it is not known. */
  readonly code: number | null;
  readonly signal: string | null;
  /** Why it could not be forked; else empty. */
  readonly message: string;
}

const fixed = 44;
/** The exit code of a child that `exit()` has ended: PHP does not tell with which. */
const unknown = 0xffff_ffff;

/** Undefined when it makes no sense. */
export function decodeEnded(payload: Uint8Array): Ended | undefined {
  if (payload.length < fixed) return undefined;
  const view = new DataView(payload.buffer, payload.byteOffset, payload.length);
  const code = view.getUint32(36, true);
  const number = view.getUint32(40, true);
  return {
    token: new TextDecoder("latin1").decode(payload.subarray(0, 32)),
    pid: view.getUint32(32, true),
    code: number === 0 && code !== unknown ? code : null,
    signal: number === 0 ? null : signalName(number),
    message: new TextDecoder().decode(payload.subarray(fixed)),
  };
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, value]) => value === number)?.[0] ?? `signal ${number}`;
}
