// From the address to a view. The address is the whole state, so every view can be linked to.

let lastCell = null;

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function viewOf(hash) {
  const [place, query] = hash.replace(/^#\/?/, "").split("?");
  const [kind, ...rest] = place.split("/").map(decoded);
  if (kind === "compared") return caseView(rest);
  if (kind === "benchmark") return benchmarkView(rest);
  if (kind === "comparison") return comparisonView(rest);
  if (kind === "claim") return rest.length > 1 ? claimCellView(rest) : claimView(rest[0]);
  if (kind === "run") return runView(rest);
  return startView(new URLSearchParams(query));
}

const nothing = (text) => ({
  title: "Not found",
  parts: [path(["Start", startAddress], ["not found"]), element("h1", { tabindex: "-1" }, text)],
});

function show(move = true) {
  const main = document.getElementById("main");
  const { title, parts, shown } = viewOf(location.hash);
  main.replaceChildren(...parts);
  shown?.();
  document.title = `${title} · Parity`;
  if (!move) return;
  main.querySelector("h1").focus({ preventScroll: true });
  window.scrollTo(0, 0);
}

document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // The address is the state; a skip link must not change it.
  const main = document.getElementById("main");
  main.focus();
  main.scrollIntoView();
});
window.addEventListener("hashchange", () => show());
show(location.hash.length > 2);
