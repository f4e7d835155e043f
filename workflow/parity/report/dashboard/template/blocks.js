// The blocks of a cell: what its arms gave in each, and below how they compare.

// Of the arm, and of the natives that it is compared with.
const END_MARKS = ["●", "◇", "□"];
const HEIGHT = 190;

const effectName = (cell, { unit }) => (cell.isByRatio ? "cost ratio to" : `difference${unit ? ` (${unit})` : ""} from`);

// The middle of all means of two values, each with itself as well (Hodges and Lehmann 1963).
function typical(values) {
  const means = values.flatMap((one, at) => values.slice(at).map((other) => (one + other) / 2)).sort((a, b) => a - b);
  return (means[(means.length - 1) >> 1] + means[means.length >> 1]) / 2;
}

// A cell with its own estimate and margin, or none: these are drawn only where the estimate is
// really what is typical of these effects, those against each base by themselves.
function ownOf(cell, pairs) {
  const [to, from] = cell.isByRatio ? [Math.log, Math.exp] : [Number, Number];
  const centres = pairs[0].effects.map((_, base) =>
    typical(pairs.map(({ effects }) => effects[base]).filter((value) => value != null).map(to)));
  const centre = from(centres.reduce((sum, value) => sum + value, 0) / centres.length);
  return cell.estimate != null && Math.abs(centre - cell.estimate) <= 1e-6 * Math.abs(centre) ? cell : {};
}

const spanText = (values, unit) => {
  const known = values.filter((value) => value != null);
  return known.length ? `${significant(Math.min(...known))} to ${significant(Math.max(...known))}${unitSuffix(unit)}` : NONE;
};

// One panel: blocks from left to right. A series has a mark, and for each block a value, what it
// is called and where it leads; a band and a rule lie behind it.
function panel(title, series, unit, { bands = [], rules = [] } = {}) {
  const count = series[0].points.length;
  const scale = scaleOf([...series.flatMap(({ points }) => points.map(({ value }) => value)), ...bands.flatMap(({ ends }) => ends), ...rules], unit);
  const down = (value) => HEIGHT * (1 - scale.place(value));
  const line = (name, value) => svg("line", { x1: "0%", x2: "100%", y1: down(value), y2: down(value), class: name });
  const marks = series.flatMap(({ points, mark, name }) => points.map(({ value, said, href }, at) => (value == null ? null
    : svg("text", { x: `${8 + (91 * (at + 0.5)) / count}%`, y: down(value), class: `mark ${name}`, "data-href": href },
      svg("title", {}, said), mark)))).filter(Boolean);
  return element("div", { class: "panel" }, element("p", { class: "small" }, title),
    svg("svg", { height: HEIGHT, "aria-hidden": "true" },
      ...bands.map(({ name, ends: [low, high] }) => svg("rect", { width: "100%", y: down(high), height: down(low) - down(high), class: name })),
      ...scale.ticks.flatMap(([value, text]) => [line("grid", value), svg("text", { y: down(value) - 3, class: "tick" }, text)]),
      ...rules.map((value) => line("none", value)),
      ...marks));
}

// What both panels show is the figure's label; the table beside it says the same in numbers.
function blocksFigure(cell, quantity, pairs, caption) {
  const href = ({ run }) => (run ? addressOfRun(run) : "");
  const ends = pairs[0].ends.map((each, end) => ({
    mark: END_MARKS[end], name: end ? "base" : "arm", title: armTitle(cell, each.arm),
    points: pairs.map((pair) => ({
      value: pair.ends[end].value, href: href(pair.ends[end]),
      said: `${armTitle(cell, each.arm)}, block ${pair.block.number}: ${significant(pair.ends[end].value, 5)}${unitSuffix(quantity.unit)}`,
    })),
  }));
  const spans = ends.map(({ title, points }) => `${title} ${spanText(points.map(({ value }) => value), quantity.unit)}`);
  const legend = `${quantity.label}${quantity.unit ? ` (${quantity.unit})` : ""}: ${ends.map(({ mark, title }) => `${mark} ${title}`).join(", ")}`;
  const panels = [panel(legend, [...ends].reverse(), "")];
  const said = [`${counted(pairs.length, "block")}: ${spans.join(", ")}`];
  if (pairs.some(({ effects }) => effects.some((value) => value != null))) {
    const own = ownOf(cell, pairs);
    const margin = bandOf(own);
    const marked = ends.slice(1).map(({ mark, title }, base) => ({
      mark, name: "arm", title: `${effectName(cell, quantity)} ${title}`, values: pairs.map(({ effects }) => effects[base]),
    }));
    const series = marked.map(({ values, title, ...rest }) => ({
      ...rest, points: values.map((value, at) => ({
        value, href: href(pairs[at].ends[0]), said: `${title}, block ${pairs[at].block.number}: ${significant(value)}`,
      })),
    }));
    panels.push(panel(marked.map(({ mark, title }) => `${mark} ${title}`).join(", "), series, cell.isByRatio ? "ratio" : quantity.unit, {
      bands: [
        ...(margin && !margin.includes(null) ? [{ name: "band", ends: margin }] : []),
        ...(own.low95 == null ? [] : [{ name: "within", ends: [own.low95, own.high95] }]),
      ],
      rules: [cell.isByRatio ? 1 : 0, ...(own.estimate == null ? [] : [own.estimate])],
    }));
    said.push(...marked.map(({ title, values }) => `${title} ${spanText(values, "")}`));
    if (own.estimate != null) said.push(`in all ${estimateText(own)}: ${words(cell.verdict)}`);
  }
  const follow = (event) => { if (event.target.dataset.href) location.hash = event.target.dataset.href; };
  const numbers = [pairs[0], pairs.at(-1)].map((pair) => element("span", {}, `block ${pair.block.number}`));
  return element("figure", { onclick: follow },
    element("div", { class: "plot", role: "img", "aria-label": said.join("; ") }, panels, element("p", { class: "ends small" }, numbers)),
    element("figcaption", {}, caption));
}
