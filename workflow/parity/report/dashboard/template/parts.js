// Small parts of every view. Texts become text nodes, so nothing in the data can be markup.

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value === true) made.setAttribute(key, "");
    else if (value !== false && value != null) made.setAttribute(key, value);
  }
  made.append(...children.flat().filter((child) => child != null && child !== ""));
  return made;
}

const link = (href, ...children) => element("a", { href }, ...children);

function badge(verdict) {
  const [mark, meaning] = wording.verdicts[verdict] ?? ["", ""];
  return element("span", { class: `badge verdict-${verdict}`, title: meaning },
    element("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${words(verdict)}`);
}

// Terms and what they are; those without an answer are left out.
function facts(entries, className = "facts") {
  const shown = entries.filter(([, answer]) => answer != null && answer !== "" && answer !== NONE && answer.length !== 0);
  return element("dl", { class: className },
    shown.map(([term, answer, remark]) => element("div", {},
      element("dt", {}, term),
      element("dd", {}, answer, remark ? element("span", { class: "remark" }, remark) : null))));
}

// A table that scrolls on its own where the screen is too narrow, also by keyboard.
function table(caption, heads, rows, className) {
  return element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    element("table", { class: className },
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows)));
}

function row(cells, attributes = {}) {
  return element("tr", attributes, cells.map((cell, place) =>
    place === 0 ? element("th", { scope: "row" }, cell) : element("td", {}, cell)));
}

// Where one is: from all claims down to here.
function path(...steps) {
  return element("nav", { class: "path", "aria-label": "Where you are" },
    element("ol", {}, steps.map(([text, href]) =>
      element("li", {}, href ? link(href, text) : element("span", { "aria-current": "page" }, text)))));
}

const code = (text) => element("code", {}, text);

function copyButton(text) {
  const said = element("span", { role: "status", class: "small" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      said.textContent = "copied";
    } catch {
      said.textContent = "this browser does not allow it: select the text instead";
    }
  };
  const button = element("button", { type: "button", onclick: copy }, "Copy the command");
  return element("p", { class: "copy" }, button, " ", said);
}

const svgElement = (name, attributes) => {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

// The interval of a ratio against its margin, as one line: the band is the margin.
function strip(verdict) {
  if (verdict.unit !== "ratio" || verdict.margin == null || verdict.low95 == null) return null;
  const bound = Math.log1p(verdict.margin);
  const place = (value) => 60 + 60 * Math.max(-1, Math.min(1, Math.log(value) / (2.5 * bound)));
  const drawing = svgElement("svg", { viewBox: "0 0 120 16", class: "strip", "aria-hidden": "true" });
  const band = place(1 + verdict.margin) - 60;
  drawing.append(
    svgElement("rect", { x: 60 - band, y: 0, width: 2 * band, height: 16, class: "band" }),
    svgElement("line", { x1: 60, x2: 60, y1: 0, y2: 16, class: "none" }),
    svgElement("line", { x1: place(verdict.low95), x2: place(verdict.high95), y1: 8, y2: 8, class: "interval" }),
    svgElement("circle", { cx: place(verdict.estimate), cy: 8, r: 3.4, class: "estimate" }));
  return drawing;
}
