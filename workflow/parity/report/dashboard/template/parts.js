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

function badge(verdict, text = words(verdict)) {
  const [mark, meaning] = outcomes[verdict] ?? ["", ""];
  return element("span", { class: `badge verdict-${verdict}`, title: meaning },
    element("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${text}`);
}

// Terms and what they are; those without an answer are left out.
function facts(entries, className = "facts") {
  const shown = entries.filter(([, answer]) => answer != null && answer !== "" && answer !== NONE && answer.length !== 0);
  return element("dl", { class: className },
    shown.map(([term, answer, remark]) => element("div", {},
      element("dt", {}, term),
      element("dd", {}, answer, remark ? element("span", { class: "remark" }, remark) : null))));
}

// A table that scrolls on its own where the screen is too narrow, also by keyboard, and says so.
function table(caption, heads, rows, className) {
  const scroll = element("div", { class: "scroll", role: "region", "aria-label": caption, tabindex: "0" },
    element("table", { class: className },
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, heads.map((head) => element("th", { scope: "col" }, head)))),
      element("tbody", {}, rows)));
  const hint = element("p", { class: "hint", hidden: true }, "This table is wider than the screen: scroll it sideways \u2192");
  new ResizeObserver(() => { hint.hidden = scroll.scrollWidth <= scroll.clientWidth; }).observe(scroll);
  return element("div", {}, hint, scroll);
}

// A cell that is one already stays as it is.
function row(cells, attributes = {}) {
  return element("tr", attributes, cells.map((cell, place) =>
    place === 0 ? element("th", { scope: "row" }, cell) : cell instanceof HTMLTableCellElement ? cell : element("td", {}, cell)));
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
