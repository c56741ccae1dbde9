// The theme puts a landmark around each code's button; a page may have dozens.
new MutationObserver(() => {
  for (const each of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    each.setAttribute("role", "presentation");
  }
}).observe(document.body, { childList: true, subtree: true });
