// Fails when a Markdown file of the project links to a file or a heading that is not there.
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const top = dirname(dirname(fileURLToPath(import.meta.url)));
const skipped = new Set(["node_modules", "dist", ".git", ".fairlead"]);

/** Every Markdown file under a folder; what examples put into `site/` is not ours. */
function* pages(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (!skipped.has(entry.name) && !(entry.name === "site" && folder.includes("examples"))) yield* pages(path);
    } else if (entry.name.endsWith(".md")) yield path;
  }
}

const withoutCode = (text) => text.replace(/^```[\s\S]*?^```/gm, "").replace(/`[^`\n]*`/g, "");

/** The anchors GitHub gives to a page's headings. */
function anchors(text) {
  const headings = text.replace(/^```[\s\S]*?^```/gm, "").matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, title]) =>
    title.trim().toLowerCase().replace(/[^\p{L}\p{N}\s_-]/gu, "").replace(/\s/g, "-")
  );
}

/** All broken relative links, as lines. */
export function brokenLinks(folder = top) {
  const out = [];
  for (const page of pages(folder)) {
    for (const [, link] of withoutCode(readFileSync(page, "utf8")).matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z][a-z+.-]*:/i.test(link)) continue;
      const [path, anchor] = link.split("#");
      const target = path === "" ? page : resolve(dirname(page), decodeURIComponent(path));
      const ok = existsSync(target) &&
        (anchor === undefined || (statSync(target).isFile() && anchors(readFileSync(target, "utf8")).includes(anchor)));
      if (!ok) out.push(`${relative(folder, page)}: no ${link}`);
    }
  }
  return out;
}
