/** Responses compressed while they are sent. @module */
import { z } from "zod";
import { size } from "../../core/config/units.ts";
import { Meter, noMeter } from "../../core/contracts/meter.ts";
import { thenable } from "../../core/hooks.ts";
import { type AnyPlugin, definePlugin } from "../../core/plugin.ts";
import { Compress } from "./compress.ts";
import { encoder } from "./encoders.ts";

const level = (highest: number, usual: number) => z.int().min(1).max(highest).default(usual);
const type = z.string().regex(
  /^(?:\*[+/][\w.+-]+|[\w.+-]+\/(?:\*|[\w.+-]+))$/i,
  "must be a media type, like text/* or *+json",
)
  .transform((value) => value.toLowerCase());

/** What is text, in all its forms; images, fonts and archives are compressed already. */
const usualTypes = [
  "text/*",
  "*+json",
  "*+xml",
  ...["json", "javascript", "xml", "wasm", "manifest"].map((name) => `application/${name}`),
  "font/ttf",
  "font/otf",
];

const config = z.strictObject({
  enabled: z.boolean().default(false).describe(
    "Compress what clients take compressed. It costs CPU that PHP does not get then",
  ),
  encodings: z.array(z.enum(["zstd", "br", "gzip"])).min(1).default(["zstd", "br", "gzip"])
    .describe("What is offered; of those that a client likes equally, the first"),
  types: z.array(type).min(1).default(usualTypes).describe("Media types: whole, as text/*, or as *+json"),
  min_size: size("1KB").describe("Bodies known to be shorter are sent as they are"),
  levels: z.strictObject({ zstd: level(19, 3), br: level(11, 4), gzip: level(9, 5) }).prefault({})
    .describe("How hard to try; the usual ones are those for bodies that are made anew each time"),
});

export default definePlugin({
  name: "compress",
  api: 1,
  config,
  wants: [Meter],
  setup(ctx) {
    const { enabled, encodings, types, min_size: minSize, levels } = ctx.config;
    if (!enabled) return;
    const compress = new Compress(
      encodings.map((name) => encoder(name, levels[name])),
      { types, minSize },
      ctx.find(Meter) ?? noMeter,
    );
    return {
      onRequest: {
        // Around all others, or they would see bodies that they cannot read.
        order: "pre",
        handler(x, next) {
          const answer = next();
          return thenable(answer)
            ? (answer as Promise<Response>).then((response) => compress.answer(x, response))
            : compress.answer(x, answer as Response);
        },
      },
    };
  },
}) as AnyPlugin;
