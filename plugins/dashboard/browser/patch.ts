import type { ElementNode, PageNode } from "../page/node.ts";

/** The attributes that were set here; those that the user's doing sets, such as `open`, are left alone. */
const set = new WeakMap<Element, Readonly<Record<string, string>>>();

const svg = "http://www.w3.org/2000/svg";

/**
 * Makes the children of an element look as wanted, keeping what is alike: the focus, a selection and what was folded open
 * stay. An element with an `id` stays itself wherever it moves to.
 */
export function patch(parent: Element, wanted: readonly PageNode[]): void {
  wanted.forEach((node, i) => {
    const here = parent.childNodes[i];
    if (typeof node === "string") return patchText(parent, here, node);
    const found = find(parent, here, node);
    const element = found ?? create(parent, node);
    if (element !== here) parent.insertBefore(element, here ?? null);
    patchAttributes(element, node.attributes);
    patch(element, node.children);
  });
  while (parent.childNodes.length > wanted.length) parent.lastChild!.remove();
}

function patchText(parent: Element, here: ChildNode | undefined, text: string): void {
  if (here?.nodeType !== Node.TEXT_NODE) return void parent.insertBefore(document.createTextNode(text), here ?? null);
  if (here.textContent !== text) here.textContent = text;
}

/** The element to keep for a node: the one of its id, or the one in its place if neither has an id. */
function find(parent: Element, here: ChildNode | undefined, node: ElementNode): Element | undefined {
  const { id } = node.attributes;
  const suits = (element: Element) => element.localName === node.tag && (set.get(element)?.["id"] === id);
  if (id !== undefined) return [...parent.children].find(suits);
  return here instanceof Element && suits(here) ? here : undefined;
}

function create(parent: Element, { tag }: ElementNode): Element {
  const within = tag === "svg" || parent.namespaceURI === svg;
  return within ? document.createElementNS(svg, tag) : document.createElement(tag);
}

function patchAttributes(element: Element, wanted: Readonly<Record<string, string>>): void {
  const before = set.get(element) ?? {};
  for (const name of Object.keys(before)) if (!(name in wanted)) element.removeAttribute(name);
  for (const [name, value] of Object.entries(wanted)) {
    if (before[name] !== value) element.setAttribute(name, value);
  }
  set.set(element, wanted);
}
