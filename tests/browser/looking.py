"""
What the tests ask a page, in the browser's own language.
"""

from __future__ import annotations

_COLOURS = """
  const parsed = text => (text.match(/[\\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map(c => c / 255)
      .map(c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = element => {
    for (let each = element; each; each = each.parentElement) {
      const colour = parsed(getComputedStyle(each).backgroundColor);
      if (colour.length === 3 || colour[3] === 1) return colour;
    }
    return [255, 255, 255];
  };
  const contrast = (one, other) => {
    const [low, high] = [light(one), light(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
"""

# How light the page is, from 0 to 1.
BEHIND = f"() => {{ {_COLOURS} return light(behind(document.body)); }}"

# Each curve's colour, and by how much it leaves its drawing.
CURVES = f"""svg => {{
  {_COLOURS}
  const frame = svg.viewBox.baseVal;
  return [...svg.querySelectorAll('path.curve, path.dots')].map(path => {{
    const box = path.getBBox();
    return {{
      colour: parsed(getComputedStyle(path).stroke).slice(0, 3),
      d: path.getAttribute('d').slice(0, 60),
      outside: Math.max(frame.x - box.x, frame.y - box.y,
        box.x + box.width - frame.width, box.y + box.height - frame.height),
    }};
  }});
}}"""

# Each label that is shown, and where.
LABELS = """figure => {
  const found = figure.querySelectorAll('.ys span, .xs span, .x-unit, .key');
  return [...found].filter(e => e.getClientRects().length).map(e => {
    const range = document.createRange();
    range.selectNodeContents(e);
    const { left, right, top, bottom } = range.getBoundingClientRect();
    // Lines stand closer than their letters' boxes.
    return { left, right, top: top + 2, bottom: bottom - 2, text: e.textContent,
      size: parseFloat(getComputedStyle(e).fontSize) };
  });
}"""

# What stands beyond the page's edges, but for what is in a table that scrolls.
BEYOND = """() => [...document.querySelectorAll('main *')]
  .filter(e => !e.closest('.wide') || e.matches('.wide'))
  .filter(e => e.getClientRects().length)
  .filter(e => {
    const { left, right } = e.getBoundingClientRect();
    return left < -0.5 || right > document.documentElement.clientWidth + 0.5;
  })
  .map(e => e.outerHTML.slice(0, 80))"""

# Tables that are wider than their place.
CUT = """() => [...document.querySelectorAll('.wide')]
  .filter(e => e.getClientRects().length)
  .filter(e => e.scrollWidth > e.clientWidth)
  .map(e => e.getAttribute('aria-label'))"""

SCROLLS = "each => each.clientWidth > 0 && each.scrollWidth > each.clientWidth"

# Whether it has scrolled sideways within five seconds.
SCROLLED = """each => new Promise(told => {
  const look = left => each.scrollLeft > 0 || !left
    ? told(each.scrollLeft > 0) : setTimeout(look, 50, left - 1);
  look(100);
})"""

_NAMED = "e => e.getAttribute('aria-label') || e.textContent.trim()"

# What the keyboard must reach, in order.
REACHABLE = f"""() => [...document.querySelectorAll('summary, .wide, a[href], button')]
  .filter(e => e.matches('summary') || !e.closest('details:not([open])'))
  .map({_NAMED})"""

# What has the focus, and how it shows.
FOCUSED = f"""() => {{
  {_COLOURS}
  const style = getComputedStyle(document.activeElement);
  return {{
    name: ({_NAMED})(document.activeElement),
    outline: style.outlineStyle === 'none' ? 0 : parseFloat(style.outlineWidth),
    contrast: contrast(parsed(style.outlineColor), behind(document.activeElement)),
  }};
}}"""

# The contrast of each text with what is behind it.
TEXTS = f"""() => {{
  {_COLOURS}
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {{
    const text = walker.currentNode.textContent.trim();
    const element = walker.currentNode.parentElement;
    if (!text || !element.getClientRects().length) continue;
    const colour = parsed(getComputedStyle(element).color);
    found.push({{ text, contrast: contrast(colour, behind(element)) }});
  }}
  return found;
}}"""

# The same of each curve.
STROKES = f"""() => {{
  {_COLOURS}
  return [...document.querySelectorAll('path.curve, path.dots')].map(path => ({{
    look: path.getAttribute('class'),
    contrast: contrast(parsed(getComputedStyle(path).stroke), behind(path)),
  }}));
}}"""

# Drawings and regions without a name, and columns without one.
NAMELESS = """() => [
  ...[...document.querySelectorAll('svg, img, canvas')]
    .filter(e => !e.closest('[aria-hidden=true]') &&
      !(e.getAttribute('role') === 'img' && e.getAttribute('aria-label'))),
  ...[...document.querySelectorAll('[role=region]')]
    .filter(e => !e.getAttribute('aria-label')),
  ...[...document.querySelectorAll('th, summary')].filter(e => !e.textContent.trim()),
].map(e => e.outerHTML.slice(0, 80))"""
