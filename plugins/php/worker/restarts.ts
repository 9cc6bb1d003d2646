/** Why a worker left, as a metrics label. The first four are those of php-fpm's children, too. */
export const workerRestarts = [
  /** It ended by itself, or its protocol broke. */
  "died",
  /** It was ended with its request. */
  "killed",
  "max_requests",
  /** Its request's deadline came. */
  "timeout",
  "boot_failed",
  /** Over `maxMemory` or `hardMemory`. */
  "memory",
  "ttl",
  /** Unused for `idleTtl`, or one too many. */
  "idle",
  "reload",
  /** It asked for it, or ended by itself without fault. */
  "asked",
  /** A signal had stopped it. */
  "stuck",
] as const;

export type WorkerRestart = typeof workerRestarts[number];
