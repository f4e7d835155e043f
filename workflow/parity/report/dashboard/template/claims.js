// The list of claims and its filters; those that nothing here tests come last.

const ranked = [...verdicts].sort((a, b) => (a.verdict === "not-tested") - (b.verdict === "not-tested"));

const matches = (verdict) => {
  const { claim, statement, where, published, reason } = verdict;
  const own = [claim, statement, where, published, reason, studies[verdict.study]?.authors].join(" ");
  const said = [own, ...(cellsOf.get(claim) ?? []).map((cell) => `${own} ${saidOf(cell)}`)];
  return ["study", "kind", "verdict"].every((key) => !chosen[key] || verdict[key] === chosen[key]) && said.some(isFound);
};

const studyTitle = (study) => {
  const known = studies[study];
  return known ? `${known.authors.split(",")[0].trim().replace(/ (et al\.?|and others)$/, "")} ${known.year}` : study;
};

function claimFilters() {
  const used = (key) => [...new Set(verdicts.map((verdict) => verdict[key]))];
  return form(
    choice("study", "Study", used("study").map((study) => [study, studyTitle(study)])),
    choice("kind", "Kind", used("kind").map((kind) => [kind, `${kind}: ${wording.kinds[kind] ?? ""}`])),
    choice("verdict", "Verdict", Object.entries(wording.verdicts).map(([name, [mark]]) => [name, `${mark} ${words(name)}`])));
}

function tallies() {
  const count = (name) => verdicts.filter(({ verdict }) => verdict === name).length;
  return element("ul", { class: "tallies", "aria-label": "Verdicts" }, Object.entries(wording.verdicts).map(([name, [mark, meaning]]) =>
    element("li", {}, element("a", { class: `tally verdict-${name}`, href: `#/?verdict=${name}`, title: meaning },
      element("b", {}, String(count(name))), " ", element("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${words(name)}`))));
}

function item(verdict) {
  return element("li", {}, element("article", { class: `claim verdict-${verdict.verdict}` },
    element("div", { class: "claim-head" }, badge(verdict.verdict),
      element("span", { class: "small" }, `${studyTitle(verdict.study)} · ${verdict.kind}`)),
    element("h3", {}, link(addressOfClaim(verdict.claim), verdict.statement)),
    element("p", { class: "reason" }, verdict.reason),
    element("div", { class: "claim-figures" }, verdict.unit === "ratio" ? strip(verdict) : null,
      verdict.estimate == null ? null : element("span", {}, estimateText(verdict)),
      verdict.margin == null ? null : element("span", { class: "small" }, `margin ${marginText(verdict)}`),
      verdict.blocks ? element("span", { class: "small" }, `n = ${verdict.blocks}`) : null)));
}

function fillClaims() {
  const found = ranked.filter(matches);
  document.querySelector(".claims").replaceChildren(...found.map(item));
  document.querySelector(".found-claims").textContent = found.length === verdicts.length
    ? `All ${counted(found.length, "claim")}` : `${found.length} of ${counted(verdicts.length, "claim")}`;
}
