// The list of claims and its filters; what is chosen stands in the address.

const FILTERS = ["study", "kind", "verdict", "q"];
let chosen = {};

const matches = (verdict) => {
  const { claim, statement, where, published, reason } = verdict;
  const said = [claim, statement, where, published, reason, studies[verdict.study]?.authors].join(" ").toLowerCase();
  return ["study", "kind", "verdict"].every((key) => !chosen[key] || verdict[key] === chosen[key])
    && (chosen.q ?? "").toLowerCase().split(/\s+/).every((word) => said.includes(word));
};

const studyTitle = (study) => {
  const known = studies[study];
  return known ? `${known.authors.split(",")[0].trim().replace(/ (et al\.?|and others)$/, "")} ${known.year}` : study;
};

const field = (label, key, control) =>
  element("div", { class: `field field-${key}` }, element("label", { for: key }, label), control);

function choice(key, label, options) {
  const onchange = (event) => choose(key, event.target.value);
  return field(label, key, element("select", { id: key, name: key, onchange },
    element("option", { value: "" }, "all"),
    options.map(([value, text]) => element("option", { value, selected: chosen[key] === value }, text))));
}

function filters() {
  const used = (key) => [...new Set(verdicts.map((verdict) => verdict[key]))];
  const search = element("input", {
    type: "search", id: "q", name: "q", value: chosen.q ?? "", placeholder: "words in a claim or a reason",
    oninput: (event) => choose("q", event.target.value),
  });
  return element("form", { class: "filters", role: "search", onsubmit: (event) => event.preventDefault() },
    field("Search", "q", search),
    choice("study", "Study", used("study").map((study) => [study, studyTitle(study)])),
    choice("kind", "Kind", used("kind").map((kind) => [kind, `${kind}: ${wording.kinds[kind] ?? ""}`])),
    choice("verdict", "Verdict", Object.entries(wording.verdicts).map(([name, [mark]]) => [name, `${mark} ${words(name)}`])),
    element("button", { type: "reset", onclick: (event) => { event.preventDefault(); clear(); } }, "Clear"));
}

function item(verdict) {
  return element("li", {}, element("article", { class: `claim verdict-${verdict.verdict}` },
    element("div", { class: "claim-head" }, badge(verdict.verdict),
      element("span", { class: "small" }, `${studyTitle(verdict.study)} · ${verdict.kind}`)),
    element("h3", {}, link(addressOfClaim(verdict.claim), verdict.statement)),
    element("p", { class: "reason" }, verdict.reason),
    element("div", { class: "claim-figures" }, strip(verdict),
      verdict.estimate == null ? null : element("span", {}, estimateText(verdict)),
      verdict.margin == null ? null : element("span", { class: "small" }, `margin ${marginText(verdict)}`),
      verdict.blocks ? element("span", { class: "small" }, `n = ${verdict.blocks}`) : null)));
}

// Only the list is made anew while somebody types, so the cursor stays where it is.
function fill(list, said) {
  const found = verdicts.filter(matches);
  list.replaceChildren(...found.map(item));
  said.textContent = found.length === verdicts.length
    ? `All ${counted(found.length, "claim")}` : `${found.length} of ${counted(verdicts.length, "claim")}`;
}

function choose(key, value) {
  chosen = { ...chosen, [key]: value };
  const query = new URLSearchParams(FILTERS.filter((name) => chosen[name]).map((name) => [name, chosen[name]]));
  history.replaceState(null, "", query.size ? `#/?${query}` : "#/");
  fill(document.querySelector(".claims"), document.querySelector(".found"));
  listAddress = location.hash;
}

function clear() {
  chosen = {};
  location.hash = "#/";
  show();
  document.querySelector("input[name=q]").focus();
}

let listAddress = "#/";

function listView(query) {
  chosen = Object.fromEntries(FILTERS.map((name) => [name, query.get(name) ?? ""]));
  listAddress = location.hash || "#/";
  const said = element("p", { class: "found", role: "status" });
  const list = element("ul", { class: "claims" });
  fill(list, said);
  return { title: "Claims", parts: [element("h2", { tabindex: "-1" }, "Claims"), filters(), said, list] };
}
