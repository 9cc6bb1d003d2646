/**
 * What the page shall look like, as plain data: made by pure functions, and put into the document by `patch.ts`. Text from
 * outside can only become text or the value of an attribute.
 *
 * @module
 */

export interface ElementNode {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly PageNode[];
}

export type PageNode = string | ElementNode;

/** What may stand for children: nothing, too. */
export type Children = PageNode | undefined | false | readonly Children[];

/** An element; attributes without a value are left out. */
export function h(
  tag: string,
  attributes: Readonly<Record<string, string | number | undefined>> = {},
  ...children: readonly Children[]
): ElementNode {
  const given = Object.entries(attributes).filter(([, value]) => value !== undefined);
  return {
    tag,
    attributes: Object.fromEntries(given.map(([name, value]) => [name, String(value)])),
    children: flat(children),
  };
}

function flat(children: readonly Children[]): PageNode[] {
  return children.flatMap((child): PageNode[] => {
    if (child === undefined || child === false) return [];
    return Array.isArray(child) ? flat(child) : [child as PageNode];
  });
}
