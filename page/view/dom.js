// Elements from texts. Whatever was typed becomes a text node or an attribute's value, never markup.

const SVG = "http://www.w3.org/2000/svg";
const ATTRIBUTES = new Set([
  "id",
  "class",
  "for",
  "type",
  "name",
  "value",
  "role",
  "rows",
  "spellcheck",
  "placeholder",
  "title",
  "scope",
  "lang",
  "accept",
  "tabindex",
  "inputmode",
  "autocomplete",
  "open",
  "hidden",
  "d",
  "x",
  "y",
  "x1",
  "x2",
  "y1",
  "y2",
  "cx",
  "cy",
  "r",
  "width",
  "height",
  "viewBox",
  "text-anchor",
  "rx",
  "colspan",
]);

function filled(node, given, children) {
  for (const [key, value] of Object.entries(given ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key.startsWith("aria-") || key.startsWith("data-") || ATTRIBUTES.has(key))
      node.setAttribute(key, value === true ? "" : String(value));
    else throw new Error(`no attribute ${key}`);
  }
  node.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false));
  return node;
}

export const h = (tag, given, ...children) => filled(document.createElement(tag), given, children);
export const svg = (tag, given, ...children) => filled(document.createElementNS(SVG, tag), given, children);
export const put = (node, ...children) =>
  node.replaceChildren(
    ...children.flat(Infinity).filter(child => child !== null && child !== undefined && child !== false),
  );
export const at = id => document.getElementById(id);
