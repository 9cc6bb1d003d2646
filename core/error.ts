/** Where an error passed through, and what to answer a client with. */
export interface ErrorPlace {
  readonly plugin?: string;
  readonly hook?: string;
  /** The HTTP status a request that met this error is answered with; 500 when absent. */
  readonly status?: number;
  readonly cause?: unknown;
}

/**
 * An error with a stable code. Users and tests match on `code`; the message says what was expected and what to do.
 *
 * @example
 * ```ts
 * throw new CoreError("PHP_NOT_FOUND", "Cannot start PHP: no php-fpm in PATH; install the package php-fpm");
 * ```
 */
export class CoreError extends Error {
  override readonly name = "CoreError";
  readonly code: string;
  readonly plugin: string | undefined;
  readonly hook: string | undefined;
  readonly status: number | undefined;

  constructor(code: string, message: string, at: ErrorPlace = {}) {
    super(message, at.cause === undefined ? undefined : { cause: at.cause });
    this.code = code;
    this.plugin = at.plugin;
    this.hook = at.hook;
    this.status = at.status;
  }

  /** Names the plugin and the hook an error came from, once: an error that already carries a code is kept. */
  static at(plugin: string, hook: string, cause: unknown): CoreError {
    if (cause instanceof CoreError) return cause;
    const text = cause instanceof Error ? cause.message : String(cause);
    return new CoreError("PLUGIN_FAILED", `${plugin}.${hook}: ${text}`, { plugin, hook, cause });
  }
}
