// What is searched and chosen on the first page; it stands in the address.

const CHOICES = ["q", "system", "above", "sort", "study", "kind", "verdict"];
// What people call it as well.
const ALSO = { apptainer: "singularity" };
let chosen = {};
let startAddress = "#/";

function readChoices(query) {
  chosen = Object.fromEntries(CHOICES.map((name) => [name, query.get(name) ?? ""]));
  startAddress = location.hash || "#/";
}

// Every word must be found, in any place; a comma stands between what is looked for beside each other.
const isFound = (said) => {
  const wanted = chosen.q.toLowerCase().split(",").filter((words) => words.trim());
  return !wanted.length || wanted.some((words) => words.split(/\s+/).every((word) => said.toLowerCase().includes(word)));
};

// By what a comparison or a cell of a claim is found.
const saidOf = (cell) => [
  cell.arm, armTitle(cell), cell.runtime, ALSO[cell.runtime?.replace(VARIANT, "")] ?? "", cell.case, caseTitle(cell), cell.metric, quantityOf(cell).label,
].join(" ");

const field = (label, key, control) =>
  element("div", { class: `field field-${key}` }, element("label", { for: key }, label), control);

function choice(key, label, options, first = "all") {
  return field(label, key, element("select", { id: key, name: key, onchange: (event) => choose(key, event.target.value) },
    element("option", { value: "" }, first),
    options.map(([value, text]) => element("option", { value, selected: chosen[key] === value }, text))));
}

const form = (...fields) => element("form", { class: "filters", onsubmit: (event) => event.preventDefault() }, fields);

// Only what was found is made anew while somebody types, so the cursor stays where it is.
function choose(key, value) {
  chosen = { ...chosen, [key]: value };
  const query = new URLSearchParams(CHOICES.filter((name) => chosen[name]).map((name) => [name, chosen[name]]));
  history.replaceState(null, "", query.size ? `#/?${query}` : "#/");
  startAddress = location.hash;
  fillMatrix();
  fillClaims();
}

function clear() {
  location.hash = "#/";
  show();
  document.querySelector("input[name=q]").focus();
}
