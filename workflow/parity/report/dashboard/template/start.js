// What is shown, a line for each comparison, as a file.
const SAVED = ["dataset", "case", "metric", "arm", "against", "unit", "blocks", "estimate", "low95", "high95", "low90", "high90", "margin", "verdict", "same", "reason"];

function save(kind) {
  const rows = foundComparisons().map((cell) => Object.fromEntries(SAVED.map((name) => [name, cell[name] ?? null])));
  const inCsv = (value) => (/[",\n]/.test(value ?? "") ? `"${value.replaceAll('"', '""')}"` : `${value ?? ""}`);
  const text = kind === "JSON" ? JSON.stringify(rows, null, 1)
    : [SAVED.join(","), ...rows.map((row) => SAVED.map((name) => inCsv(row[name])).join(","))].join("\n");
  const href = URL.createObjectURL(new Blob([text, "\n"], { type: kind === "JSON" ? "application/json" : "text/csv" }));
  element("a", { href, download: `comparisons.${kind.toLowerCase()}` }).click();
  URL.revokeObjectURL(href);
}

// The first page: what containers cost here and where that comes from, then the claims.

function archivesTable() {
  return table("Archives on this page", ["Dataset", "Study", "System", "Measured", "Blocks", "Runs", "Program"], [...archives.values()].map((archive) => row([
    shortName(archive.name), archive.title, archive.systems.join(", "), archive.measured, archive.blocks.length,
    new Set(archive.runs.map((run) => `${run.block}\n${run.run}`)).size, archive.commits.map((commit) => commit.slice(0, 12)).join(", "),
  ])));
}

function startView(query) {
  readChoices(query);
  const search = element("input", {
    type: "search", id: "q", name: "q", value: chosen.q, placeholder: "hpcg apptainer, hpcg podman",
    oninput: (event) => choose("q", event.target.value),
  });
  const systems = [...new Set([...archives.values()].map((archive) => archive.systems.join(", ")))];
  const notes = new Set([...archives.values()].map((archive) => archive.note).filter(Boolean));
  return {
    title: "Start",
    parts: [
      element("h1", { tabindex: "-1" }, "What does a container cost?"),
      element("div", { id: "alarm" }),
      form(field("Search runtimes, benchmarks, cases and claims", "q", search),
        choice("system", "System", systems.map((system) => [system, system])),
        choice("above", "Not ruled out: more than", ["0.01", "0.02", "0.05", "0.1"].map((value) => [value, percent(Number(value))])),
        choice("sort", "Order", [["bound", "largest bound first"], ["name", "by name"]], "applications first"),
        element("button", { type: "button", onclick: clear }, "Clear"),
        ...["CSV", "JSON"].map((kind) => element("button", { type: "button", onclick: () => save(kind) }, `Save as ${kind}`))),
      element("h2", {}, "Each runtime against its reference"),
      element("p", { class: "found found-comparisons", role: "status" }),
      element("div", { id: "matrix" }),
      element("p", { class: "small" }, "Cost ratio to the reference, such as native, with its 95 % interval: above 1 costs more. n: blocks; ±: the margin. "
        + "A benchmark's cell counts how its cases ended and shows the ratio that is known best; a search goes down to cases. Where archives or "
        + "formats of an image share a case, it shows the comparison with most blocks, then the narrowest interval; “also” says how the others "
        + "ended. A cell leads to all that it stands for. A/A: the reference measured twice."),
      element("details", {},
        element("summary", {}, `From ${counted(archives.size, "archive")} of ${counted(systems.length, "system")}`), archivesTable()),
      element("h2", {}, "Published claims"),
      element("p", { class: "small" }, `${isOfOneSystem ? `Judged on ${verdicts[0].judged}.` : "Judged on each system by itself."} ${[...notes].join(" ")}`),
      element("ul", { class: "tallies" }), claimFilters(),
      element("p", { class: "found found-claims", role: "status" }),
      element("ul", { class: "claims" }),
      element("details", {}, element("summary", {}), element("ul", { class: "claims untested" })),
    ],
    shown: () => { fillMatrix(); fillClaims(); },
  };
}
