// The headline, and the few numbers beneath it.

function drawHeadline() {
  const ratio = run && run.ratio ? run.ratio : data.ratio;
  const isChanged = regions.length > 0;
  const isFaster = run ? run.result === 'improved' && run.ratio : data.ratio;
  const parts = [];
  if (isFaster) {
    parts.push(`${ratioText(ratio)}× faster`);
    if (run && run.low) parts.push(' ', html('span', { class: 'interval', title: '95 % interval' }, `[${ratioText(run.low)}, ${ratioText(run.high)}]`, html('span', { class: 'comma' }, ',')));
    else parts.push(',');
    parts.push(' ', html('span', { class: 'proved' }, 'proved equal'));
  } else if (isChanged) {
    parts.push(`${grouped(before.op.length)} nodes as ${grouped(after.op.length)}, `, html('span', { class: 'proved' }, 'proved equal'));
  } else {
    parts.push('Unchanged');
  }
  $('headline').append(...parts);
  document.title = $('headline').textContent + ' – ' + data.names.in;
  const where = run && run.runtime && run.runtime.name && run.ratio
    ? `Measured on ${run.runtime.title} ${run.runtime.version}, ${run.runtime.threads === 0 ? 'its own number of threads' : plural(run.runtime.threads, 'thread')}, ${run.machine}; inputs ${run.inputs}.`
    : '';
  const why = run && run.reason ? ` ${run.reason[0].toUpperCase()}${run.reason.slice(1)}.` : '';
  $('subtitle').append(html('b', {}, data.names.in), isChanged ? ` became ${data.names.out}.` : ` and ${data.names.out} are the same.`,
    data.fixed.length ? ` For one size only: ${data.fixed.join(', ')}.` : '', why, where ? ' ' + where : '');
  drawFacts();
}

function drawFacts() {
  const list = $('facts');
  const fact = (name, was, is) => {
    const value = is === undefined ? [was] : [was, html('span', { class: 'to' }, '→'), is];
    list.append(html('div', {}, html('dt', {}, name), html('dd', {}, value)));
  };
  const isChanged = regions.length > 0, both = isChanged ? (name, was, is) => fact(name, was, is) : (name, was) => fact(name, was);
  if (run && run.before && run.after) both('latency', timeText(run.before.latency_ns.median), timeText(run.after.latency_ns.median));
  if (run && run.sizes) for (const at of run.sizes) fact(`at ${at.size}`, `${ratioText(at.ratio)}× [${ratioText(at.low)}, ${ratioText(at.high)}]`);
  if (data.widened) fact('16-bit floats computed in float32', `${plural(data.widened, 'value')}, with less rounding`);
  both('nodes', grouped(before.op.length), grouped(after.op.length));
  if (run && run.bytes_in) both('file', bytesText(run.bytes_in), bytesText(run.bytes_out));
  if (run && run.before && run.before.peak_bytes && run.after.peak_bytes) both('peak memory', bytesText(run.before.peak_bytes), bytesText(run.after.peak_bytes));
  if (run && run.error_before !== null && run.error_before !== undefined) both('rounding error', run.error_before.toExponential(1), run.error_after.toExponential(1));
  if (isChanged) fact(data.is_pairing ? 'pairs of values proved' : 'proved steps', grouped(data.is_pairing ? data.proofs : data.steps.length));
}
