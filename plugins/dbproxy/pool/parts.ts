import type { Care } from "./care.ts";
import type { Dials } from "./dials.ts";
import type { Pooled, PoolOptions } from "./options.ts";
import type { Pacer } from "./pacer.ts";
import type { Request } from "./request.ts";
import type { PoolSettings } from "./settings.ts";
import type { Slots } from "./slots.ts";

/** What a supply is made of, for those of its parts that look at the others. */
export interface SupplyParts<B extends Pooled, W> {
  readonly options: PoolOptions<B, W>;
  readonly settings: PoolSettings;
  readonly slots: Slots<B>;
  readonly seeking: ReadonlySet<Request<B, W>>;
  readonly pacer: Pacer;
  readonly dials: Dials<B, W>;
  readonly care: Care<B, W>;
}
