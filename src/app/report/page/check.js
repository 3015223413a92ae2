// Opaque nodes, and how to check all of it.

function drawOpaque() {
  const box = $('opaque');
  if (!data.opaque.length) {
    box.append(html('p', {}, 'Every node of the original has a formula: none is opaque.'));
    return;
  }
  const reasons = new Map();
  for (const [node, op, reason] of data.opaque) {
    const key = op + '\n' + reason;
    if (!reasons.has(key)) reasons.set(key, { op, reason, nodes: [] });
    reasons.get(key).nodes.push(node);
  }
  box.append(html('p', {}, `${plural(data.opaque.length, 'node')} of the original ${data.opaque.length === 1 ? 'is' : 'are'} opaque: unknown functions of their inputs, which are kept as they are.`));
  const body = [...reasons.values()].map(r => html('tr', {}, html('td', {}, html('b', {}, r.op), r.nodes.length > 1 ? ` ×${r.nodes.length}` : ''), html('td', {}, r.reason), html('td', { class: 'quiet', title: r.nodes.slice(0, 50).join('\n') }, shorter(r.nodes[0], 48) + (r.nodes.length > 1 ? ', …' : ''))));
  box.append(html('div', { class: 'wide' }, html('table', {}, html('thead', {}, html('tr', {}, html('th', {}, 'operator'), html('th', {}, 'why'), html('th', {}, 'where'))), html('tbody', {}, body))));
}

// A word for a shell.
const quoted = word => /^[\w.\/=-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

function drawCheck() {
  const [a, b, c] = [data.names.in, data.names.out, data.names.certificate].map(quoted);
  const sizes = data.fixed.map(s => ` --shape ${quoted(s)}`).join('');
  const commands = [
    ['Prove every step again, without a search:', `isomer check ${a} ${b} ${c}${sizes}`],
    ['The same with a program that links no optimizer:', `isomer-check ${a} ${b} ${c}${sizes}`],
    ['List the steps, as the checker reads them:', `isomer explain ${c} --steps`],
    ['Compare the outputs, and measure again:', `isomer compare ${a} ${b}${sizes}\nisomer bench ${a} ${b}${sizes}`]];
  if (!data.is_pairing) commands.push(['Search again:', `isomer optimize ${a} -o ${b}${data.fixed.length ? ' --fix-shape' + sizes : ''} --report report.html`]);
  $('check').append(html('p', {}, 'The optimizer made this page; the certificate is the proof, and its digests match the two models. These commands check it:'),
    html('dl', { class: 'commands' }, commands.flatMap(([what, line]) => [html('dt', {}, what), html('dd', {}, html('pre', {}, line))])));
  const runtime = run && run.runtime && run.runtime.name ? `, ${run.runtime.title} ${run.runtime.version}` : widths.runtime ? `, ${widths.runtime}` : '';
  $('footer').textContent = `isomer ${data.version}${runtime}. One file; it loads nothing from a network.`;
}
