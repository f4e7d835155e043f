// One run: where it ran, what was started, and what came of it.

function nodePart(node, { dataset, block }) {
  const { constant, changing } = archives.get(dataset).nodes[node];
  const now = Object.entries(changing[block] ?? {}).map(([fact, phases]) =>
    [fact, Object.entries(phases).sort().reverse().map(([phase, value]) => `${phase} ${value || NONE}`).join("; ")]);
  const all = { ...constant, ...Object.fromEntries(now) };
  const main = Object.entries(wording.facts).map(([fact, label]) => [label, all[fact]]);
  const others = Object.entries(all).filter(([fact]) => !(fact in wording.facts))
    .sort(([a], [b]) => a.localeCompare(b));
  return [
    element("h3", {}, node),
    facts(main),
    element("details", {}, element("summary", {}, `${others.length} more facts of ${node}`),
      facts(others.map(([fact, value]) => [fact.replaceAll("_", " "), value]))),
  ];
}

function imagePart(run) {
  // What was never started, or measured elsewhere, has no witness either.
  if (!run.image_digest) return facts([["Image", run.evidence.length ? "none: it ran on the host itself" : "not recorded"]]);
  const chain = [];
  const { images } = archives.get(run.dataset);
  let image = images.find((each) => each.digest === run.image_digest);
  while (image && !chain.includes(image)) {
    chain.push(image);
    image = images.find((each) => each.format === image.parent);
  }
  return facts([
    ["Image digest", code(run.image_digest)],
    ...chain.slice(1).map((each) => [`made from: ${each.format}`, code(each.digest), each.tool]),
  ]);
}

const metricRows = (run) => [...run.metrics.keys()].sort().map((metric) => {
  const quantity = quantityOf(run, metric);
  const value = significant(valueOf(run, metric), 6);
  return row([quantity.label, `${value}${unitSuffix(quantity.unit)}`, quantity.better]);
});

function evidencePart(run) {
  const title = "What the process itself saw of where it ran";
  return element("details", {}, element("summary", {}, title), facts(run.evidence));
}

function usedBy(run) {
  const claims = [...new Set(evidence.filter((cell) => isPartOf(run, cell)).map((cell) => cell.claim))];
  const links = claims.flatMap((claim, place) => [place ? ", " : "", link(addressOfClaim(claim), claim)]);
  return claims.length ? facts([["Part of", links]]) : null;
}

// The way back to the cell that one came from, if this run is one of its own.
const wayBack = (run) => (lastCell && isPartOf(run, lastCell) ? [[armTitle(lastCell), addressOfCell(lastCell)]] : []);

function outcomePart(run, others) {
  const seconds = (value) => (value == null ? NONE : `${significant(value)}\u202fs`);
  const parameters = Object.entries(JSON.parse(run.parameters || "{}"));
  return facts([
    ["Dataset", run.dataset],
    ["Block", code(run.block)],
    ["Run", code(run.run)],
    ["Attempt", run.attempt || "never started"],
    ["Stage", run.stage, run.reason],
    ["Exit status", run.exit_code == null ? NONE : String(run.exit_code)],
    ["Started", timeText(run.started)],
    ["Wall time", seconds(run.wall_seconds)],
    ["CPU time, user", seconds(run.user_seconds), "of the processes that were waited for"],
    ["CPU time, system", seconds(run.system_seconds)],
    ["Place in block", run.position == null ? NONE : String(run.position), run.command.length ? "in an order drawn at random" : ""],
    ["Stolen CPU time", percent(run.steal_fraction)],
    ["Load before", fixed(run.load_before, 2)],
    ["Parameters", parameters.map(([name, value]) => `${name} = ${value}`).join(", ")],
    ["Other attempts", others.flatMap((each) => [link(addressOfRun(each), `attempt ${each.attempt}`), " "])],
  ], "facts two");
}

function commandPart(run) {
  if (!run.command.length) return [element("p", {}, "Nothing was started here.")];
  const shown = run.command.flatMap((word, at) =>
    [at ? " " : "", element("span", { class: word.includes("\n") ? "lines" : null }, quoted(word))]);
  return [
    element("pre", { class: "command", role: "region", tabindex: "0", "aria-label": "Exact command" }, shown),
    copyButton(run.command.map(quoted).join(" ")),
  ];
}

function hashesPart(run) {
  const said = (hash) => (hash ? code(hash) : "not recorded");
  return facts([
    ["Binary SHA-256", said(run.binary_sha256)],
    ["Libraries SHA-256", said(run.closure_sha256)],
    ["Environment SHA-256", said(run.environment_sha256)],
    ["Output SHA-256, its first 12 digits", said(run.stdout_sha256)],
  ]);
}

function whetherItCounts(run) {
  if (run.counts) return "This run counts.";
  const reason = run.final ? run.reason || run.stage : "a later attempt does";
  return `This run does not count: ${reason}${run.detail ? `. ${run.detail}` : ""}`;
}

function runView([dataset, block, name, attempt]) {
  const run = archives.get(dataset)?.runs.find((each) => each.block === block && each.run === name && String(each.attempt) === attempt);
  if (!run) return nothing(`There is no run ${name} of block ${block} in these data.`);
  const held = archiveOf(run).blockOf.get(block);
  const title = `${armTitle(run)}, ${caseTitle(run)}, block ${held.number}`;
  const others = runsOfCell(run, run.case, run.arm).filter((each) => each.block === block && each !== run);
  return {
    title,
    parts: [
      path(["Start", startAddress], ...wayBack(run), [`block ${held.number}`]),
      element("h1", { tabindex: "-1" }, title),
      element("p", { class: "callout" }, whetherItCounts(run)),
      outcomePart(run, others),
      usedBy(run),
      element("h2", {}, "Exact command"),
      ...commandPart(run),
      run.metrics.size ? table("What it gave", ["Quantity", "Value", "Better"], metricRows(run)) : null,
      element("h2", {}, "Image and binaries"),
      imagePart(run),
      hashesPart(run),
      evidencePart(run),
      element("h2", {}, held.nodes.length > 1 ? `${held.nodes.length} nodes` : "Node"),
      ...held.nodes.flatMap((node) => nodePart(node, run)),
    ].filter(Boolean),
  };
}
