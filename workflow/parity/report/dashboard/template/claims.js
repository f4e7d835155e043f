// The list of claims and its filters; those that nothing here tests come last.

const ranked = [...verdictsOf.values()].sort((a, b) => b.some(isTested) - a.some(isTested));

// What a claim is on all systems that test it, or as the first of them says why it is not tested.
function judgementsOf(judged) {
  const tested = judged.filter(isTested);
  return tested.length ? tested : judged.slice(0, 1);
}

// What a claim is on the chosen system, or on all that test it.
function shownOf(judged) {
  const here = judged.filter((each) => !chosen.system || isOfOneSystem || judgedOn(each) === chosen.system.replace(/ \(.*/, ""));
  const tested = here.filter(isTested);
  return tested.length ? tested : [here[0] ?? judged.find((each) => !isTested(each)) ?? { ...judged[0], ...NOT_HERE }];
}

const NOT_HERE = {
  verdict: "not-tested", reason: "no dataset of this system bears on it", estimate: null, margin: null, blocks: 0, unit: "",
};

const matches = (shown) => {
  const [{ claim, statement, where, published, study, kind }] = shown;
  const own = [claim, statement, where, published, ...shown.map(({ reason }) => reason), studies[study]?.authors].join(" ");
  const said = [own, ...(cellsOf.get(claim) ?? []).map((cell) => `${own} ${saidOf(cell)}`)];
  return (!chosen.study || study === chosen.study) && (!chosen.kind || kind === chosen.kind)
    && (!chosen.verdict || shown.some(({ verdict }) => verdict === chosen.verdict)) && said.some(isFound);
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
  const shown = ranked.map(shownOf);
  const count = (name) => shown.filter((each) => each.some(({ verdict }) => verdict === name)).length;
  return element("ul", { class: "tallies", "aria-label": "Verdicts" }, Object.entries(wording.verdicts).map(([name, [mark, meaning]]) =>
    element("li", {}, element("a", { class: `tally verdict-${name}`, href: `#/?verdict=${name}`, title: meaning },
      element("b", {}, String(count(name))), " ", element("span", { class: "mark", "aria-hidden": "true" }, mark), ` ${words(name)}`))));
}

const numbersOf = (verdict) => element("div", { class: "claim-figures" }, verdict.unit === "ratio" ? strip(verdict) : null,
  verdict.estimate == null ? null : element("span", {}, estimateText(verdict)),
  verdict.margin == null ? null : element("span", { class: "small" }, `margin ${marginText(verdict)}`),
  verdict.blocks ? element("span", { class: "small" }, `n = ${verdict.blocks}`) : null);

// What most blocks rest on stands first; a line each for the other systems.
function item(shown) {
  const [first, ...others] = [...shown].sort((a, b) => b.blocks - a.blocks);
  return element("li", {}, element("article", { class: `claim verdict-${first.verdict}` },
    element("div", { class: "claim-head" }, badge(first.verdict),
      element("span", { class: "small" }, [studyTitle(first.study), first.kind, isTested(first) ? judgedOn(first) : ""].filter(Boolean).join(" · "))),
    element("h3", {}, link(addressOfClaim(first.claim), first.statement)),
    element("p", { class: "reason" }, first.reason),
    others.map((each) => element("p", { class: "reason" }, badge(each.verdict), ` ${judgedOn(each)}: ${each.reason}`)),
    numbersOf(first)));
}

// Those that nothing tests are many, so they wait until somebody asks for them.
function fillClaims() {
  const found = ranked.map(shownOf).filter(matches);
  const [tested, others] = [found.filter((shown) => shown.some(isTested)), found.filter((shown) => !shown.some(isTested))];
  document.querySelector(".tallies").replaceWith(tallies());
  document.querySelector(".claims").replaceChildren(...tested.map(item));
  document.querySelector(".untested").replaceChildren(...others.map(item));
  const rest = document.querySelector("details:has(> .untested)");
  rest.hidden = !others.length;
  rest.open = !tested.length || CHOICES.some((name) => name !== "system" && chosen[name]);
  rest.querySelector("summary").textContent = `${counted(others.length, "claim")} not tested`;
  document.querySelector(".found-claims").textContent = found.length === ranked.length
    ? `All ${counted(found.length, "claim")}` : `${found.length} of ${counted(ranked.length, "claim")}`;
}
