// The candidates of the search: tried, proved and accepted; and the measurements.

function drawSearch() {
  const measured = run && run.regions ? run.regions.filter(r => r.ratio > 0) : [];
  const proposers = run && run.search && run.search.proposers ? run.search.proposers.filter(p => p.tried > 0) : [];
  if (!measured.length && !proposers.length) { $('search-section').hidden = true; return; }
  const s = run.search;
  $('search').append(html('p', { class: 'quiet' }, `${digits(run.seconds)} s: ${plural(s.states, 'graph')} visited, ${plural(s.proofs, 'proof')} tried, ${plural(run.refused, 'candidate')} not proved or not accepted${run.stopped_by === 'done' ? '; all candidates were tried.' : `; ended by the ${run.stopped_by}.`}`));
  if (proposers.length) $('search').append(proposerTable(proposers));
  if (measured.length) $('search').append(html('h4', {}, 'Changes that were measured alone: speedup with the 95 % interval'), html('div', { class: 'chart' }, ratioChart(measured)));
}

function proposerTable(proposers) {
  const taken = Object.fromEntries((run.steps || []).map(t => [t.kind, t.count]));
  const most = Math.max(...proposers.map(p => p.tried));
  const body = proposers.sort((a, b) => b.tried - a.tried).map(p => {
    const fillWith = colourOf[p.kind] === undefined ? 'var(--quiet)' : colour(p.kind), part = n => `${(100 * n / most).toFixed(2)}%`;
    const bar = (n, opacity) => html('i', { style: `width:${part(n)};background:${fillWith};opacity:${opacity}` });
    return html('tr', {}, html('td', {}, p.kind), html('td', { style: 'width:50%' }, html('span', { class: 'bars' }, bar(p.tried, 0.25), bar(p.proved, 0.5), taken[p.kind] ? bar(taken[p.kind], 1) : null)),
      html('td', { class: 'number' }, grouped(p.tried)), html('td', { class: 'number' }, grouped(p.proved)), html('td', { class: 'number' }, grouped(taken[p.kind] || 0)));
  });
  return html('div', { class: 'wide' }, html('table', {}, html('thead', {}, html('tr', {}, html('th', {}, 'proposer'), html('th', {}, ''), html('th', { class: 'number' }, 'tried'), html('th', { class: 'number' }, 'proved'), html('th', { class: 'number' }, 'taken'))), html('tbody', {}, body)));
}

function ratioChart(all) {
  const list = [...all].sort((a, b) => b.ratio - a.ratio).slice(0, 40);
  const width = Math.max(320, Math.min(1136, $('search').clientWidth)), labels = width < 600 ? 0 : width * 0.48, row = labels ? 24 : 42;
  const low = Math.min(0.95, ...list.map(r => r.low)), high = Math.max(1.05, ...list.map(r => r.high || r.ratio));
  const place = v => labels + 10 + (Math.log(v) - Math.log(low)) / (Math.log(high) - Math.log(low)) * (width - labels - 80);
  const root = svg('svg', { viewBox: `0 0 ${width} ${list.length * row + 8}`, width, role: 'img', 'aria-label': 'measured ratios of single changes' });
  root.append(svg('line', { x1: place(1), x2: place(1), y1: 0, y2: list.length * row + 4, stroke: 'var(--quiet)', 'stroke-dasharray': '3 3' }));
  list.forEach((r, k) => {
    const kind = r.what.split(':')[0], y = k * row + (labels ? 15 : 32);
    const fillWith = colourOf[kind] === undefined ? 'var(--quiet)' : colour(kind);
    const text = `${r.places > 1 ? r.places + ' × ' : ''}${r.words}`;
    root.append(svg('text', { x: 0, y: labels ? y + 4 : y - 14, 'font-size': 13, fill: 'var(--ink)' }, fitted(text, Math.floor((labels || width) / 6.7)), svg('title', {}, text)),
      svg('line', { x1: place(r.low), x2: place(r.high || r.ratio), y1: y, y2: y, stroke: fillWith, 'stroke-width': 2 }),
      svg('circle', { cx: place(r.ratio), cy: y, r: 4.5, fill: fillWith }),
      svg('text', { x: place(r.high || r.ratio) + 9, y: y + 4, 'font-size': 12, fill: 'var(--quiet)' }, ratioText(r.ratio)));
  });
  return root;
}
