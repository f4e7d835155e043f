// Tables that scroll on their own can be reached by keyboard.
document$.subscribe(() => setTimeout(() => {
  for (const scroll of document.querySelectorAll(".md-typeset__scrollwrap")) {
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", "Table");
  }
}));
